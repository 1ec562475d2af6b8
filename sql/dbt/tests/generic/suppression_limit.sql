{#- At most a share of the records of a source is left out of a model. source: ref('visits'). Gives
    how many records both have where more are. -#}
{% test suppression_limit(model, source, most) %}
  {%- set most = deid.number(most, 0, 1, 'most', false) -%}
  SELECT source_records, released_records
  FROM (SELECT COUNT(*) AS source_records FROM {{ source }}) AS deid_source
  CROSS JOIN (SELECT COUNT(*) AS released_records FROM {{ model }}) AS deid_model
  -- the slack is for the product of fractions; `limit` would be a setting of dbt's own
  WHERE source_records - released_records > source_records * {{ most }} + 0.000001
{% endtest %}
