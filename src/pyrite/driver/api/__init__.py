"""What SparkContext offers, by subject."""
