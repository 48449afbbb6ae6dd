"""Query matrices kept implicit: on one attribute, and over the whole domain. No targets, no files."""
