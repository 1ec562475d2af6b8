{#- No column has one of some names, or a name that matches a pattern (a regular expression), in any
    case. Gives the columns that do. -#}
{% test no_direct_identifiers(model, columns=[], patterns=[]) %}
  {% if columns is string or patterns is string or not (columns or patterns) %}
    {% do deid.stop(
      'no_direct_identifiers: expects columns or patterns', 'as in columns: [name, mrn]'
    ) %}
  {% endif %}
  {% for name in deid.matching(deid.columns_of(model), columns, patterns) %}
  SELECT {{ deid.literal(name) }} AS column_name
  {{ 'UNION ALL' if not loop.last }}
  {% else %}
  SELECT CAST(NULL AS {{ type_string() }}) AS column_name
  FROM {{ model }}
  WHERE 1 = 0
  {% endfor %}
{% endtest %}
