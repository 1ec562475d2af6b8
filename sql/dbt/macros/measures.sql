{#- What the equivalence classes of a relation are measured by: one row a class, with the
    quasi-identifiers as deid_q0, deid_q1, … and the measure beside them.

    relation: a table, a view, or a name of the query around. qis, sensitive, subject: columns as SQL
    has them, that is quoted where it needs be. subject: the column that tells whose record it is,
    and NULL nobody's; none: every record counts.
    A NULL in a quasi-identifier is equal to itself. The numbers are those of deid.k,
    deid.l_diversity, deid.t_closeness and deid.t_closeness_ordered in DuckDB. -#}

{#- deid_records, and deid_size: of subjects, or of records. -#}
{% macro class_sizes(relation, qis, subject=none) %}
  {{ return(adapter.dispatch('class_sizes', 'deid')(relation, qis, subject)) }}
{% endmacro %}

{% macro default__class_sizes(relation, qis, subject) %}
  SELECT
    {{ deid._keys(qis) }},
    COUNT(*) AS deid_records,
    COUNT({{ '*' if subject is none else 'DISTINCT ' ~ subject }}) AS deid_size
  FROM {{ relation }}
  GROUP BY {{ deid._listed(qis) }}
{% endmacro %}

{#- deid_size and deid_l, how many sensitive values there are. kind: distinct, where no l exceeds
    the subjects and one value of everybody is 1; or entropy, the exponential of the entropy. -#}
{% macro class_diversity(relation, qis, sensitive, kind='distinct', subject=none) %}
  {{ return(adapter.dispatch('class_diversity', 'deid')(relation, qis, sensitive, kind, subject)) }}
{% endmacro %}

{% macro default__class_diversity(relation, qis, sensitive, kind, subject) %}
  SELECT
    {{ deid._carried(qis) }},
    deid_size,
    CASE
      WHEN deid_size = 0 THEN 0
      WHEN deid_most = deid_size THEN 1
      {%- if kind == 'entropy' %}
      -- exact, which EXP(LN(3)) is not
      WHEN deid_most = deid_least THEN CASE
        WHEN deid_values < deid_size THEN deid_values
        ELSE deid_size
      END
      WHEN EXP(LN(NULLIF(deid_pairs, 0)) - deid_weighted / NULLIF(deid_pairs, 0)) < deid_size
        THEN EXP(LN(NULLIF(deid_pairs, 0)) - deid_weighted / NULLIF(deid_pairs, 0))
      {%- else %}
      WHEN deid_values < deid_size THEN deid_values
      {%- endif %}
      ELSE deid_size
    END AS deid_l
  FROM (
    SELECT
      {{ deid._carried(qis, 'pairs.') }},
      {{ 'SUM(pairs.deid_n)' if subject is none else 'MAX(sizes.deid_size)' }} AS deid_size,
      MAX(pairs.deid_n) AS deid_most,
      MIN(CASE WHEN pairs.deid_n > 0 THEN pairs.deid_n END) AS deid_least,
      SUM(CASE WHEN pairs.deid_n > 0 THEN 1 ELSE 0 END) AS deid_values
      {%- if kind == 'entropy' %},
      CAST(SUM(pairs.deid_n) AS {{ deid.double() }}) AS deid_pairs,
      SUM(CASE
        WHEN pairs.deid_n > 1 THEN pairs.deid_n * LN(CAST(pairs.deid_n AS {{ deid.double() }}))
        ELSE 0
      END) AS deid_weighted
      {%- endif %}
    FROM (
      {{ deid._pairs(relation, qis, sensitive, subject) }}
    ) AS pairs
    {%- if subject is not none %}
    JOIN (
      {{ deid.class_sizes(relation, qis, subject) }}
    ) AS sizes
      ON {{ deid._matched(qis, 'pairs', 'sizes') }}
    {%- endif %}
    GROUP BY {{ deid._carried(qis, 'pairs.') }}
  ) AS measured
{% endmacro %}

{#- deid_size and deid_t, from 0 to 1: how far the sensitive values of the class are from those of
    the relation. ordered: values are as far apart as their places in the order of their type, NULL
    last; else all are as far apart. -#}
{% macro class_closeness(relation, qis, sensitive, ordered=false, subject=none) %}
  {% if ordered %}
    {{ return(adapter.dispatch('class_closeness_ordered', 'deid')(
      relation, qis, sensitive, subject
    )) }}
  {% endif %}
  {{ return(adapter.dispatch('class_closeness_equal', 'deid')(relation, qis, sensitive, subject)) }}
{% endmacro %}

{% macro default__class_closeness_equal(relation, qis, sensitive, subject) %}
  SELECT
    {{ deid._carried(qis, 'pairs.') }},
    SUM(pairs.deid_n) AS deid_size,
    CASE
      WHEN SUM(pairs.deid_n) = 0 THEN 1
      -- what the class has too much of is what it has too little of others
      ELSE SUM(CASE
        WHEN pairs.deid_share > overall.deid_share THEN pairs.deid_share - overall.deid_share
        ELSE 0
      END)
    END AS deid_t
  FROM (
    SELECT
      {{ deid._carried(qis) }},
      deid_value,
      deid_n,
      CAST(deid_n AS {{ deid.double() }})
        / NULLIF(SUM(deid_n) OVER (PARTITION BY {{ deid._carried(qis) }}), 0) AS deid_share
    FROM (
      {{ deid._pairs(relation, qis, sensitive, subject) }}
    ) AS counted
  ) AS pairs
  JOIN (
    {{ deid._overall(relation, sensitive, subject) }}
  ) AS overall
    ON {{ deid.same('pairs.deid_value', 'overall.deid_value') }}
  GROUP BY {{ deid._carried(qis, 'pairs.') }}
{% endmacro %}

{#- Every class meets every value: the work is classes times values. -#}
{% macro default__class_closeness_ordered(relation, qis, sensitive, subject) %}
  SELECT
    {{ deid._carried(qis) }},
    MAX(deid_size) AS deid_size,
    CASE
      WHEN MAX(deid_size) = 0 THEN 1
      WHEN MAX(deid_place) = 1 THEN 0
      ELSE SUM(ABS(deid_upto / NULLIF(deid_size, 0) - deid_overall)) / (MAX(deid_place) - 1)
    END AS deid_t
  FROM (
    SELECT
      {{ deid._carried(qis, 'sizes.') }},
      overall.deid_place,
      overall.deid_upto AS deid_overall,
      CAST(SUM(COALESCE(pairs.deid_n, 0)) OVER (
        PARTITION BY {{ deid._carried(qis, 'sizes.') }}
        ORDER BY overall.deid_place
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS {{ deid.double() }}) AS deid_upto,
      sizes.deid_size
    FROM (
      SELECT
        {{ deid._carried(qis) }},
        SUM(deid_n) AS deid_size
      FROM (
        {{ deid._pairs(relation, qis, sensitive, subject) }}
      ) AS counted
      GROUP BY {{ deid._carried(qis) }}
    ) AS sizes
    -- not a cross join, which would lose the classes where nobody has a value
    LEFT JOIN (
      SELECT
        deid_value,
        ROW_NUMBER() OVER (
          ORDER BY CASE WHEN deid_value IS NULL THEN 1 ELSE 0 END, deid_value
        ) AS deid_place,
        SUM(deid_share) OVER (
          ORDER BY CASE WHEN deid_value IS NULL THEN 1 ELSE 0 END, deid_value
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS deid_upto
      FROM (
        {{ deid._overall(relation, sensitive, subject) }}
      ) AS held
      -- a value that nobody has takes no place
      WHERE deid_share > 0
    ) AS overall
      ON 1 = 1
    LEFT JOIN (
      {{ deid._pairs(relation, qis, sensitive, subject) }}
    ) AS pairs
      ON {{ deid._matched(qis, 'sizes', 'pairs') }}
      AND {{ deid.same('overall.deid_value', 'pairs.deid_value') }}
  ) AS running
  GROUP BY {{ deid._carried(qis) }}
{% endmacro %}

{#- The values of each class, and how many records or subjects have one. -#}
{% macro _pairs(relation, qis, sensitive, subject) %}
  SELECT
    {{ deid._keys(qis) }},
    {{ sensitive }} AS deid_value,
    COUNT({{ '*' if subject is none else 'DISTINCT ' ~ subject }}) AS deid_n
  FROM {{ relation }}
  GROUP BY {{ deid._listed(qis) }}, {{ sensitive }}
{% endmacro %}

{#- The values of the relation, and their shares. -#}
{% macro _overall(relation, sensitive, subject) %}
  SELECT
    deid_value,
    CAST(deid_n AS {{ deid.double() }}) / NULLIF(SUM(deid_n) OVER (), 0) AS deid_share
  FROM (
    SELECT
      {{ sensitive }} AS deid_value,
      COUNT({{ '*' if subject is none else 'DISTINCT ' ~ subject }}) AS deid_n
    FROM {{ relation }}
    GROUP BY {{ sensitive }}
  ) AS counted
{% endmacro %}

{% macro _listed(qis) %}
  {%- for name in qis %}{{ name }}{{ ', ' if not loop.last }}{% endfor -%}
{% endmacro %}

{% macro _keys(qis) %}
  {%- for name in qis -%}
    {{ name }} AS deid_q{{ loop.index0 }}{{ ', ' if not loop.last }}
  {%- endfor -%}
{% endmacro %}

{% macro _carried(qis, alias='') %}
  {%- for name in qis %}{{ alias }}deid_q{{ loop.index0 }}{{ ', ' if not loop.last }}{% endfor -%}
{% endmacro %}

{% macro _matched(qis, one, other) %}
  {%- for name in qis -%}
    {%- set key = '.deid_q' ~ loop.index0 -%}
    {{ deid.same(one ~ key, other ~ key) }}{{ ' AND ' if not loop.last }}
  {%- endfor -%}
{% endmacro %}
