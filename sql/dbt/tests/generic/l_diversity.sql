{#- Every class of equal quasi-identifiers has at least l sensitive values. kind: distinct, or
    entropy. Gives the classes that have fewer, and a class of 0 for an empty table. -#}
{% test l_diversity(
  model, quasi_identifiers, sensitive_column, l, kind='distinct', subject=none, sample_limit=none,
  show_values=false
) %}
  {%- set qis = deid.found(model, quasi_identifiers, 'l_diversity') -%}
  {%- set sensitive = deid.found_one(model, sensitive_column, 'l_diversity') -%}
  {%- set subject = deid.found_one(model, subject, 'l_diversity') -%}
  {%- set asked = deid.diversities({'column': sensitive_column, 'l': l, 'kind': kind})[0] -%}
  {{ deid.failing(
    deid.class_diversity(model, qis, sensitive, asked.kind, subject), deid.diverse('deid_l', asked),
    {'class_size': 'deid_size', 'l': 'deid_l'}, model, qis, sample_limit, show_values
  ) }}
{% endtest %}
