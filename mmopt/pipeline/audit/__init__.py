"""What came from elsewhere: strategies to be certified, saved solutions to be verified."""
