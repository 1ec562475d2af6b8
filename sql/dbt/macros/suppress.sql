{#- The records of a relation whose class is large enough, as a query.

    relation: a table, or a name of the query around: `WITH generalized AS (…)`.
    quasi_identifiers: its columns. k: the smallest class that stays. subject: whose records they
    are; subjects then count. l_diversity: also leaves out classes that are not diverse enough,
    one `{column, l, kind}` or a list of them. Records with a value that a policy does not map stay,
    so that the gate closes on them and nobody overlooks that the policy is out of date.
    What is left out changes no other class, so that what stays holds all of it. t-closeness is no
    such thing: a gate may still refuse. -#}
{% macro suppress(relation, quasi_identifiers, k, subject=none, l_diversity=none) %}
  {{ return(adapter.dispatch('suppress', 'deid')(
    relation, quasi_identifiers, k, subject, l_diversity
  )) }}
{% endmacro %}

{% macro default__suppress(relation, quasi_identifiers, k, subject, l_diversity) %}
  {%- set qis = deid._named_list(quasi_identifiers, 'deid.suppress') -%}
  {%- set k = deid.number(k, 1, none, 'k', true) -%}
  {%- set subject = none if subject is none else deid.named(subject) -%}
  SELECT deid_source.*
  FROM {{ relation }} AS deid_source
  JOIN (
    {{ deid.class_sizes(relation, qis, subject) }}
  ) AS deid_classes
    ON {{ deid._belongs(qis, 'deid_classes') }}
    AND (deid_classes.deid_size >= {{ k }} OR {{ deid._unmapped_ones(qis) }})
  {%- for model in deid.diversities(l_diversity) %}
  JOIN (
    {{ deid.class_diversity(relation, qis, deid.named(model.column), model.kind, subject) }}
  ) AS deid_diverse_{{ loop.index0 }}
    ON {{ deid._belongs(qis, 'deid_diverse_' ~ loop.index0) }}
    AND ({{ deid.diverse('deid_diverse_' ~ loop.index0 ~ '.deid_l', model) }}
      OR {{ deid._unmapped_ones(qis) }})
  {%- endfor %}
{% endmacro %}

{% macro _named_list(names, where) %}
  {% set found = [] %}
  {% for name in deid.listed(names, where) %}{% do found.append(deid.named(name)) %}{% endfor %}
  {{ return(found) }}
{% endmacro %}

{% macro _belongs(qis, alias) %}
  {%- for name in qis -%}
    {{ deid.same('deid_source.' ~ name, alias ~ '.deid_q' ~ loop.index0) }}
    {{- ' AND ' if not loop.last -}}
  {%- endfor -%}
{% endmacro %}

{% macro _unmapped_ones(qis) %}
  {%- for name in qis -%}
    CAST(deid_source.{{ name }} AS {{ type_string() }}) = {{ deid.literal(deid.unmapped()) }}
    {{- ' OR ' if not loop.last -}}
  {%- endfor -%}
{% endmacro %}
