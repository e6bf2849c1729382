"""Spark at the edge: finding a Java for it."""

from penstock_worker.spark.java import Java, NoJavaError, find_java

__all__ = ["Java", "NoJavaError", "find_java"]
