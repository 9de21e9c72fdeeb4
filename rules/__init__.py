"""The rule language: vocabulary, rule files, checks."""
