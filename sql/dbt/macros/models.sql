{#- The privacy models as somebody declares them, checked: what is misspelt is no promise. -#}

{#- Models of l-diversity: none, one, or a list of {column, l, kind}. -#}
{% macro diversities(given) %}
  {% set models = [] %}
  {% for one in deid._several(given, 'l_diversity', ['column', 'l', 'kind']) %}
    {% set kind = one.get('kind', 'distinct') %}
    {% if kind not in ['distinct', 'entropy'] %}
      {% do deid.stop('l_diversity: unknown kind', 'kind is distinct or entropy') %}
    {% endif %}
    {% do models.append({
      'column': deid._column(one, 'l_diversity'),
      'l': deid.number(one.get('l'), 1, none, 'l', kind == 'distinct'),
      'kind': kind,
    }) %}
  {% endfor %}
  {{ return(models) }}
{% endmacro %}

{#- Models of t-closeness: none, one, or a list of {column, t, ordered}. -#}
{% macro closenesses(given) %}
  {% set models = [] %}
  {% for one in deid._several(given, 't_closeness', ['column', 't', 'ordered']) %}
    {% if one.get('ordered', false) is not boolean %}
      {% do deid.stop('t_closeness: ordered is true or false', 'as in ordered: true') %}
    {% endif %}
    {% do models.append({
      'column': deid._column(one, 't_closeness'),
      't': deid.number(one.get('t'), 0, 1, 't', false),
      'ordered': one.get('ordered', false),
    }) %}
  {% endfor %}
  {{ return(models) }}
{% endmacro %}

{#- Whether a measured l keeps a promise; sums of logarithms are rounded. -#}
{% macro diverse(found, model) %}
  {%- set slack = model.l * 1e-9 if model.kind == 'entropy' else 0 -%}
  {{ return(found ~ ' >= ' ~ (model.l - slack)) }}
{% endmacro %}

{#- Whether a measured t keeps a promise; sums of shares are rounded. -#}
{% macro close(found, model) %}
  {{ return(found ~ ' <= ' ~ '%.12f' | format(model.t + 1e-9)) }}
{% endmacro %}

{% macro _several(given, where, keys) %}
  {% set models = [] if given is none else [given] if given is mapping else given %}
  {% if models is string or models is not sequence %}
    {% do deid.stop(where ~ ': expects {' ~ keys | join(', ') ~ '}', 'or a list of these') %}
  {% endif %}
  {% for one in models %}
    {% if one is not mapping %}
      {% do deid.stop(where ~ ': expects {' ~ keys | join(', ') ~ '}', 'or a list of these') %}
    {% endif %}
    {% do deid.known_keys(one, keys, where) %}
  {% endfor %}
  {{ return(models) }}
{% endmacro %}

{% macro _column(model, where) %}
  {% if model.get('column') is not string %}
    {% do deid.stop(where ~ ': expects a column', 'as in {column: diagnosis, …}') %}
  {% endif %}
  {{ return(model.column) }}
{% endmacro %}

{#- Stops where a mapping has other keys. -#}
{% macro known_keys(mapping, keys, where) %}
  {% for key in mapping if key not in keys %}
    {% do deid.stop(where ~ ': unknown key ' ~ key, 'there are ' ~ keys | join(', ')) %}
  {% endfor %}
{% endmacro %}
