"""The methods of SparkContext, by subject."""
