{#- Names, texts and types as each database writes them. -#}

{#- What a value reads that a policy does not map. It tells nothing of the value, and every gate
    closes on it. -#}
{% macro unmapped() %}{{ return('(unmapped)') }}{% endmacro %}

{#- A text as a literal. -#}
{% macro literal(text) %}{{ return(adapter.dispatch('literal', 'deid')(text)) }}{% endmacro %}

{% macro default__literal(text) %}
  {{ return("'" ~ (text | string | replace("'", "''")) ~ "'") }}
{% endmacro %}

{#- Where a backslash escapes. -#}
{% macro snowflake__literal(text) %}
  {{ return("'" ~ (text | string | replace("\\", "\\\\") | replace("'", "\\'")) ~ "'") }}
{% endmacro %}

{% macro bigquery__literal(text) %}
  {{ return("'" ~ (text | string | replace("\\", "\\\\") | replace("'", "\\'")
    | replace("\n", "\\n")) ~ "'") }}
{% endmacro %}

{% macro spark__literal(text) %}
  {{ return("'" ~ (text | string | replace("\\", "\\\\") | replace("'", "\\'")) ~ "'") }}
{% endmacro %}

{#- A column whose name is known as it is spelled in the database. -#}
{% macro quoted(name) %}{{ return(adapter.dispatch('quoted', 'deid')(name)) }}{% endmacro %}

{% macro default__quoted(name) %}
  {{ return(adapter.quote(name | replace('"', '""'))) }}
{% endmacro %}

{% macro bigquery__quoted(name) %}{{ return(adapter.quote(name)) }}{% endmacro %}

{% macro spark__quoted(name) %}{{ return(adapter.quote(name)) }}{% endmacro %}

{#- A column as somebody wrote its name: it is quoted, unless the database folds names to upper
    case, where a plain name stays plain. -#}
{% macro named(name) %}{{ return(adapter.dispatch('named', 'deid')(name)) }}{% endmacro %}

{% macro default__named(name) %}{{ return(deid.quoted(name)) }}{% endmacro %}

{% macro snowflake__named(name) %}
  {% set plain = modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', name) %}
  {{ return(name if plain else deid.quoted(name)) }}
{% endmacro %}

{#- The type of fractions. -#}
{% macro double() %}{{ return(adapter.dispatch('double', 'deid')()) }}{% endmacro %}

{% macro default__double() %}{{ return('DOUBLE PRECISION') }}{% endmacro %}

{% macro bigquery__double() %}{{ return('FLOAT64') }}{% endmacro %}

{% macro spark__double() %}{{ return('DOUBLE') }}{% endmacro %}

{#- Stop: what, where, and what to do. Never a value. -#}
{% macro stop(message, hint) %}
  {% do exceptions.raise_compiler_error(message ~ '\n  Hint: ' ~ hint) %}
{% endmacro %}

{#- A relation with all its rows, of which `dbt --empty` reads none. -#}
{% macro whole(relation) %}
  {{ return(api.Relation.create(
    database=relation.database, schema=relation.schema, identifier=relation.identifier
  )) }}
{% endmacro %}

{#- The columns of a relation as they are spelled there; none while dbt only parses. A relation
    may be a table, a view, or the subquery that a test with `where` gets. -#}
{% macro columns_of(relation) %}
  {{ return(get_columns_in_query('SELECT * FROM ' ~ relation) if execute else []) }}
{% endmacro %}

{#- Names of columns as somebody listed them. -#}
{% macro listed(names, where) %}
  {% if names is string or names is not sequence or not names
    or names | select('string') | list | length < names | length %}
    {% do deid.stop(where ~ ': expects a list of columns', 'as in [age, zip]') %}
  {% endif %}
  {% if names | map('lower') | unique | list | length < names | length %}
    {% do deid.stop(where ~ ': a column is listed twice', 'list it once') %}
  {% endif %}
  {{ return(names) }}
{% endmacro %}

{#- Some columns of a relation as SQL has them. Stops where there is no such column. -#}
{% macro found(relation, names, where) %}
  {% set known = {} %}
  {% for column in deid.columns_of(relation) %}
    {% do known.update({column | lower: column}) %}
  {% endfor %}
  {% set found = [] %}
  {% for name in deid.listed(names, where) %}
    {% if known and name | lower not in known %}
      {% do deid.stop(
        where ~ ': there is no column ' ~ name, 'there are ' ~ known.values() | join(', ')
      ) %}
    {% endif %}
    {% do found.append(deid.quoted(known.get(name | lower, name))) %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}

{#- One of them, or none. -#}
{% macro found_one(relation, name, where) %}
  {{ return(none if name is none else deid.found(relation, [name], where)[0]) }}
{% endmacro %}

{#- A number that a promise is made with. -#}
{% macro number(value, least, most, where, whole) %}
  {% set fits = value is number and value is not boolean and value >= least
    and (most is none or value <= most) and (not whole or value == value | int) %}
  {% if not fits %}
    {% do deid.stop(
      where ~ ': expects a ' ~ ('whole ' if whole else '') ~ 'number from ' ~ least
        ~ ('' if most is none else ' to ' ~ most),
      'as in ' ~ where ~ ': ' ~ ('5' if whole else '0.2')
    ) %}
  {% endif %}
  {{ return(value) }}
{% endmacro %}
