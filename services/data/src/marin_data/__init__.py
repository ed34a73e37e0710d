"""Turns raw text into documents, conversations and problems with Apache Beam."""
