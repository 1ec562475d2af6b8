{#- The records of a relation that a policy lets go, as a query: those of classes that are as large
    and diverse as it promises.

    relation: a table, or a name of the query around: `WITH generalized AS (…)`.
    policy: ref('visits_policy'), which says which columns the query gives, and what is promised.
    In an incremental build, the records that are released already count in their classes. -#}
{% macro suppress(relation, policy) %}
  {%- if not execute %}{{ return('SELECT * FROM ' ~ relation) }}{% endif -%}
  {%- set plan = deid.plan_of(policy) -%}
  {%- set columns = plan.columns.keys() | list -%}
  {%- if plan.subject is not none and plan.subject | lower not in columns | map('lower') -%}
    {%- do columns.append(plan.subject) -%}
  {%- endif -%}
  {{ return(deid.large_classes(
    relation, columns, plan.quasi_identifiers, plan.k, plan.subject, plan.l_diversity,
    this if deid.is_incremental() else none
  )) }}
{% endmacro %}

{#- The records of a relation whose class is large enough, as a query.

    columns: those that the query gives. quasi_identifiers: among its columns. k: the smallest class
    that stays. subject: whose records they are; subjects then count. l_diversity: also leaves out
    classes that are not diverse enough, one `{column, l, kind}` or a list of them. beside: a table
    with these columns, whose records count as well and are not given.
    Records with a value that a policy does not map stay, so that the gate closes on them and nobody
    overlooks that the policy is out of date. What is left out changes no other class, so that what
    stays holds all of it. t-closeness is no such thing: a gate may still refuse.
    It counts by windows: no database joins by IS NOT DISTINCT FROM in linear time but a few. -#}
{% macro large_classes(
  relation, columns, quasi_identifiers, k, subject=none, l_diversity=none, beside=none
) %}
  {{ return(adapter.dispatch('large_classes', 'deid')(
    relation, columns, quasi_identifiers, k, subject, l_diversity, beside
  )) }}
{% endmacro %}

{% macro default__large_classes(
  relation, columns, quasi_identifiers, k, subject, l_diversity, beside
) %}
  {%- set given = deid._named_list(columns, 'deid.large_classes, columns') -%}
  {%- set qis = deid._named_list(quasi_identifiers, 'deid.large_classes, quasi_identifiers') -%}
  {%- set k = deid.number(k, 1, none, 'k', true) -%}
  {%- set who = none if subject is none else deid.named(subject) -%}
  {%- set models = deid.diversities(l_diversity) -%}
  {%- set class = 'OVER (PARTITION BY ' ~ deid._listed(qis) ~ ')' -%}
  {%- set carried = given + qis + ([] if who is none else [who]) -%}
  {%- for model in models %}{% do carried.append(deid.named(model.column)) %}{% endfor -%}
  {%- set all = deid._listed(carried | unique | list) -%}
  SELECT {{ deid._listed(given) }}
  FROM (
    SELECT
      {{ all }},
      deid_new,
      {{ 'COUNT(*)' if who is none else deid._once('deid_of_class', who) }} {{ class }} AS deid_size
      {%- for model in models %}
      {%- set mark = '_' ~ loop.index0 -%}
      {%- set once = 'CASE WHEN deid_place' ~ mark ~ ' = 1 THEN ' -%},
      MAX(deid_n{{ mark }}) {{ class }} AS deid_most{{ mark }},
      SUM({{ once }}CASE WHEN deid_n{{ mark }} > 0 THEN 1 ELSE 0 END ELSE 0 END) {{ class }}
        AS deid_values{{ mark }}
      {%- if model.kind == 'entropy' %},
      MIN(CASE WHEN deid_n{{ mark }} > 0 THEN deid_n{{ mark }} END) {{ class }}
        AS deid_least{{ mark }},
      CAST(SUM({{ once }}deid_n{{ mark }} ELSE 0 END) {{ class }} AS {{ deid.double() }})
        AS deid_pairs{{ mark }},
      SUM({{ once }}{{ deid.weighted(mark) }} ELSE 0 END) {{ class }} AS deid_weighted{{ mark }}
      {%- endif %}
      {%- endfor %}
    FROM (
      {{ deid._of_pairs(deid._of_subjects(relation, all, qis, who, models, beside), all, qis, who, models) }}
    ) AS deid_paired
  ) AS deid_classed
  WHERE deid_new = 1
    AND (
      (deid_size >= {{ k }}
      {%- for model in models %}
      {%- set mark = '_' ~ loop.index0 %}
      AND {{ deid.diverse(deid.diversity(model.kind, mark), model) }}
      {%- endfor %})
      OR {{ deid._unmapped_ones(qis) }}
    )
{% endmacro %}

{#- How many have each value of a class, deid_n, and the place of a record among those, deid_place:
    for each model of l-diversity. -#}
{% macro _of_pairs(relation, all, qis, who, models) %}
    SELECT
      {{ all }},
      deid_new
      {%- if who is not none %},
      deid_of_class
      {%- endif %}
      {%- for model in models %}
      {%- set value = deid.named(model.column) -%}
      {%- set mark = '_' ~ loop.index0 -%}
      {%- set pair = 'PARTITION BY ' ~ deid._listed(qis) ~ ', ' ~ value -%},
      {{ 'COUNT(*)' if who is none else deid._once('deid_of_pair' ~ mark, who) }} OVER ({{ pair }})
        AS deid_n{{ mark }},
      ROW_NUMBER() OVER ({{ pair }} ORDER BY {{ value }}) AS deid_place{{ mark }}
      {%- endfor %}
    FROM (
      {{ relation }}
    ) AS deid_numbered
{% endmacro %}

{#- The place of a record among those of its subject in the class, deid_of_class, and among those
    that have its value, deid_of_pair: no database counts distinct values over windows but a few. -#}
{% macro _of_subjects(relation, all, qis, who, models, beside) %}
      SELECT
        {{ all }},
        deid_new
        {%- if who is not none %},
        ROW_NUMBER() OVER (PARTITION BY {{ deid._listed(qis) }}, {{ who }} ORDER BY {{ who }})
          AS deid_of_class
        {%- for model in models %},
        ROW_NUMBER() OVER (
          PARTITION BY {{ deid._listed(qis) }}, {{ deid.named(model.column) }}, {{ who }}
          ORDER BY {{ who }}
        ) AS deid_of_pair_{{ loop.index0 }}
        {%- endfor %}
        {%- endif %}
      FROM (
        SELECT {{ all }}, 1 AS deid_new
        FROM {{ relation }}
        {%- if beside is not none %}
        UNION ALL
        SELECT {{ all }}, 0
        FROM {{ beside }}
        {%- endif %}
      ) AS deid_source
{% endmacro %}

{#- A sum that counts each subject once. -#}
{% macro _once(place, who) %}
  {{- return('SUM(CASE WHEN ' ~ place ~ ' = 1 AND ' ~ who ~ ' IS NOT NULL THEN 1 ELSE 0 END)') -}}
{% endmacro %}

{% macro _named_list(names, where) %}
  {% set found = [] %}
  {% for name in deid.listed(names, where) %}{% do found.append(deid.named(name)) %}{% endfor %}
  {{ return(found) }}
{% endmacro %}

{% macro _unmapped_ones(qis) %}
  {%- for name in qis -%}
    CAST({{ name }} AS {{ type_string() }}) = {{ deid.literal(deid.unmapped()) }}
    {{- ' OR ' if not loop.last -}}
  {%- endfor -%}
{% endmacro %}
