/** The panel of /memory status: the answer to `status`, asked again every second until a key closes it. */

import type { Theme } from "@earendil-works/pi-coding-agent";
import { type Component, matchesKey, Text } from "@earendil-works/pi-tui";

const REFRESH_MS = 1_000;
const CLOSING = ["escape", "return", "q", "ctrl+c"] as const;

export class StatusPanel implements Component {
  private readonly text = new Text("", 1, 1);
  private readonly theme: Theme;
  private readonly ask: () => Promise<string>;
  private readonly redraw: () => void;
  private readonly done: () => void;
  private timer: NodeJS.Timeout | undefined;

  constructor(theme: Theme, first: string, ask: () => Promise<string>, redraw: () => void, done: () => void) {
    this.theme = theme;
    this.ask = ask;
    this.redraw = redraw;
    this.done = done;
    this.show(first);
    this.again();
  }

  render(width: number): readonly string[] {
    return this.text.render(width);
  }

  invalidate(): void {
    this.text.invalidate();
  }

  handleInput(data: string): void {
    if (CLOSING.some((key) => matchesKey(data, key))) this.done();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private again(): void {
    this.timer = setTimeout(async () => {
      const said = await this.ask();
      if (this.timer === undefined) return; // closed while it was asked
      this.show(said);
      this.redraw();
      this.again();
    }, REFRESH_MS);
    this.timer.unref();
  }

  private show(said: string): void {
    const head = this.theme.fg("accent", this.theme.bold("Memory"));
    this.text.setText(`${head}\n${said}\n${this.theme.fg("dim", "Enter or Esc closes this panel")}`);
  }
}
