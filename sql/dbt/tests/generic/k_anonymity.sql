{#- Every class of equal quasi-identifiers has at least k records, or subjects. Gives the classes
    that are smaller, and a class of 0 for an empty table. -#}
{% test k_anonymity(
  model, quasi_identifiers, k, subject=none, sample_limit=none, show_values=false
) %}
  {%- set qis = deid.found(model, quasi_identifiers, 'k_anonymity') -%}
  {%- set subject = deid.found_one(model, subject, 'k_anonymity') -%}
  {%- set k = deid.number(k, 1, none, 'k', true) -%}
  {{ deid.failing(
    deid.class_sizes(model, qis, subject), 'deid_size >= ' ~ k,
    {'class_size': 'deid_size'}, model, qis, sample_limit, show_values
  ) }}
{% endtest %}
