{#- The classes that do not keep a promise, the smallest first: their measures, and their values
    only where they are asked for. An empty table has a class of nobody. -#}
{% macro failing(classes, kept, measures, relation, qis, sample_limit, show_values) %}
  {% if show_values is not boolean %}
    {% do deid.stop('show_values is true or false', 'leave it out for false') %}
  {% endif %}
  SELECT *
  FROM (
    SELECT
      {%- for name, measure in measures.items() %}
      {{ measure }} AS {{ name }}{{ ',' if not loop.last or show_values }}
      {%- endfor %}
      {%- if show_values %}
      {%- for name in qis %}
      deid_q{{ loop.index0 }} AS {{ name }}{{ ',' if not loop.last }}
      {%- endfor %}
      {%- endif %}
    FROM (
      {{ classes }}
    ) AS deid_classes
    -- the condition is what must hold, so that NULL fails
    WHERE CASE WHEN {{ kept }} THEN 0 ELSE 1 END = 1
    UNION ALL
    SELECT
      {%- for name in measures %}
      {{ '0' if loop.first else 'NULL' }}{{ ',' if not loop.last or show_values }}
      {%- endfor %}
      {%- if show_values %}
      {%- for name in qis %}
      NULL{{ ',' if not loop.last }}
      {%- endfor %}
      {%- endif %}
    FROM (SELECT COUNT(*) AS deid_records FROM {{ relation }}) AS deid_all
    WHERE deid_records = 0
  ) AS deid_failing
  ORDER BY 1
  {%- if sample_limit is not none %}
  LIMIT {{ deid.number(sample_limit, 1, none, 'sample_limit', true) }}
  {%- endif %}
{% endmacro %}

{#- The columns that have one of some names, or match one of some patterns, in any case. -#}
{% macro matching(columns, names, patterns) %}
  {% set wanted = names | map('lower') | list %}
  {% set found = [] %}
  {% for name in columns %}
    {% set hits = [] %}
    {% for pattern in patterns if modules.re.fullmatch(pattern | lower, name | lower) %}
      {% do hits.append(pattern) %}
    {% endfor %}
    {% if hits or name | lower in wanted %}{% do found.append(name) %}{% endif %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}
