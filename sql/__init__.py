"""SQL of dbdeid: persistent macros, steps and catalog definitions, as .sql files."""
