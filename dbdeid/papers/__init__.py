"""The experiments of the five papers that dbdeid unites, computed by dbdeid itself.

`catalog` lists them, `reproduce` computes one and writes its page. A module a paper; what they
share lies in `common`.
"""
