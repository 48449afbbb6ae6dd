"""The commands, a file each: its options, the call, what is shown. What several share stands one level up."""
