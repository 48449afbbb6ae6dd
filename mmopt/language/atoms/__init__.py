"""Every function and operator of the language: a row of a table each, and what rows name. No trees."""
