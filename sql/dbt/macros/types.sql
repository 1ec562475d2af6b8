{#- The types that a release may have, by the names that a plan calls them. A type that is none of
    these is not released: an ENUM lists all original values, a nested type holds what it likes, and
    char takes texts for equal that end in more or fewer blanks. -#}
{% macro type_names() %}
  {% set words = {
    'text': ['text', 'varchar', 'character varying', 'string', 'nvarchar'],
    'integer': [
      'tinyint', 'smallint', 'integer', 'int', 'bigint', 'hugeint', 'utinyint', 'usmallint',
      'uinteger', 'ubigint', 'uhugeint', 'int2', 'int4', 'int8', 'int64', 'byteint', 'long', 'short'
    ],
    'decimal': ['decimal', 'numeric', 'number', 'bignumeric'],
    'float': ['double', 'double precision', 'real', 'float', 'float4', 'float8', 'float64'],
    'boolean': ['boolean', 'bool'],
    'date': ['date'],
    'timestamp': [
      'timestamp', 'timestamp without time zone', 'datetime', 'timestamp_ntz', 'timestamp_s',
      'timestamp_ms', 'timestamp_ns'
    ],
    'timestamptz': [
      'timestamptz', 'timestamp with time zone', 'timestamp_tz', 'timestamp_ltz'
    ],
  } %}
  {% set names = {} %}
  {% for name, spelled in words.items() %}
    {% for word in spelled %}{% do names.update({word: name}) %}{% endfor %}
  {% endfor %}
  {{ return(names) }}
{% endmacro %}

{#- The name of a type of the database; none where it is no type of a release. -#}
{% macro type_name(data_type) %}
  {% set plain = modules.re.fullmatch('([a-z_0-9 ]+?) *([(][0-9, ]+[)])?( with(out)? time zone)?',
    data_type | lower | trim) %}
  {{ return(deid.type_names().get(plain.group(1) ~ (plain.group(3) or '')) if plain else none) }}
{% endmacro %}

{#- What a message may call a type: the values of an ENUM and fields of a STRUCT are not said. -#}
{% macro shown_type(data_type) %}
  {% set word = modules.re.match('[A-Za-z_ ]+', data_type) %}
  {{ return(word.group(0) | trim if word else 'another type') }}
{% endmacro %}

{#- The columns of a relation by the spelling of their names, and the types that the database says
    they have. -#}
{% macro types_of(relation) %}
  {{ return(adapter.dispatch('types_of', 'deid')(relation)) }}
{% endmacro %}

{% macro default__types_of(relation) %}
  {% set found = {} %}
  {% for column in adapter.get_columns_in_relation(relation) %}
    {% do found.update({column.name: column.data_type}) %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}

{#- What it describes does not have collations, by which texts that differ are equal; what it would
    create a table by has. -#}
{% macro duckdb__types_of(relation) %}
  {% set query %}
    SELECT sql
    FROM duckdb_tables()
    WHERE LOWER(schema_name) = {{ deid.literal(relation.schema | lower) }}
      AND LOWER(table_name) = {{ deid.literal(relation.identifier | lower) }}
  {% endset %}
  {% set found = deid.default__types_of(relation) %}
  {% set collated = modules.re.compile(' COLLATE (?!"?(C|POSIX|BINARY)"?[,)])', modules.re.I) %}
  {% set collating = [] %}
  {% for row in run_query(query).rows if collated.search(row[0]) %}
    {% do collating.append(row[0]) %}
  {% endfor %}
  {% if collating %}
    {% for name, kind in found.items() if deid.type_name(kind) == 'text' %}
      {% do found.update({name: 'text beside one of a loose collation'}) %}
    {% endfor %}
  {% endif %}
  {{ return(found) }}
{% endmacro %}

{#- The catalog, because information_schema calls a domain by the type under it, and says nothing of
    a collation by which texts that differ are equal. -#}
{% macro postgres__types_of(relation) %}
  {% set query %}
    SELECT
      columns.attname,
      CASE
        WHEN types.typtype = 'e' OR elements.typtype = 'e' THEN 'ENUM'
        WHEN types.typtype = 'd' THEN 'a domain'
        WHEN types.typtype <> 'b' OR spaces.nspname <> 'pg_catalog' THEN 'a type of its own'
        WHEN NOT COALESCE(collations.collisdeterministic, TRUE) THEN 'text of a loose collation'
        ELSE FORMAT_TYPE(columns.atttypid, NULL)
      END
    FROM pg_catalog.pg_attribute AS columns
    JOIN pg_catalog.pg_class AS tables ON tables.oid = columns.attrelid
    JOIN pg_catalog.pg_namespace AS schemas ON schemas.oid = tables.relnamespace
    JOIN pg_catalog.pg_type AS types ON types.oid = columns.atttypid
    JOIN pg_catalog.pg_namespace AS spaces ON spaces.oid = types.typnamespace
    LEFT JOIN pg_catalog.pg_type AS elements ON elements.oid = types.typelem
    LEFT JOIN pg_catalog.pg_collation AS collations ON collations.oid = columns.attcollation
    WHERE tables.relname = {{ deid.literal(relation.identifier) }}
      AND schemas.nspname = {{ deid.literal(relation.schema) }}
      AND columns.attnum > 0
      AND NOT columns.attisdropped
    ORDER BY columns.attnum
  {% endset %}
  {% set found = {} %}
  {% for row in run_query(query).rows %}{% do found.update({row[0]: row[1]}) %}{% endfor %}
  {{ return(found) }}
{% endmacro %}

{#- Its catalog knows no collations. -#}
{% macro redshift__types_of(relation) %}{{ return(deid.default__types_of(relation)) }}{% endmacro %}
