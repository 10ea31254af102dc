"""What a user does, through the commands, in real processes."""
