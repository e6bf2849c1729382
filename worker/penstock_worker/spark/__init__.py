"""Spark at the edge: a Java for it, sessions on whichever Spark a URL names, and what its errors tell."""

from penstock_worker.spark.choice import spark_for
from penstock_worker.spark.java import Java, NoJavaError, find_java
from penstock_worker.spark.problems import CannotStartError, LostError

__all__ = ["CannotStartError", "Java", "LostError", "NoJavaError", "find_java", "spark_for"]
