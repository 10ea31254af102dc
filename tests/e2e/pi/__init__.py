"""The real Pi with Perdure in it, against a scripted model on loopback."""
