{#- Every value of the columns that a policy is about is one that the policy gives, or NULL. Gives
    how many records of each column have another. policy: ref('visits_policy'). -#}
{% test no_unmapped_values(model, policy) %}
  {%- set known = deid.columns_of(model) -%}
  {%- set planned = deid.planned_columns(policy) | map('lower') | list if execute else [] -%}
  {%- set checked = [] -%}
  {%- for name in known if name | lower in planned %}{% do checked.append(name) %}{% endfor -%}
  {%- if execute and not checked -%}
    {% do deid.stop(
      'no_unmapped_values: no column of ' ~ model ~ ' is in the policy',
      'test the model that was generalized by it'
    ) %}
  {%- endif -%}
  {% for name in checked %}
  SELECT
    {{ deid.literal(name) }} AS column_name,
    COUNT(*) AS records
  FROM {{ model }}
  WHERE {{ deid._unlike(name, deid.rules(policy, name)) }}
  HAVING COUNT(*) > 0
  {{ 'UNION ALL' if not loop.last }}
  {% endfor %}
{% endtest %}
