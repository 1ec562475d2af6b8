{#- The sensitive values of every class of equal quasi-identifiers are distributed much as in the
    whole table: their earth mover's distance is at most t. ordered: values are as far apart as
    their places. Gives the classes that are farther, and a class of 0 for an empty table. -#}
{% test t_closeness(
  model, quasi_identifiers, sensitive_column, t, ordered=false, subject=none, sample_limit=none,
  show_values=false
) %}
  {%- set qis = deid.found(model, quasi_identifiers, 't_closeness') -%}
  {%- set sensitive = deid.found_one(model, sensitive_column, 't_closeness') -%}
  {%- set subject = deid.found_one(model, subject, 't_closeness') -%}
  {%- set asked = deid.closenesses({'column': sensitive_column, 't': t, 'ordered': ordered})[0] -%}
  {{ deid.failing(
    deid.class_closeness(model, qis, sensitive, asked.ordered, subject), deid.close('deid_t', asked),
    {'class_size': 'deid_size', 't': 'deid_t'}, model, qis, sample_limit, show_values
  ) }}
{% endtest %}
