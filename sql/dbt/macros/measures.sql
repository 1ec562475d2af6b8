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
    {{ deid.diversity(kind) }} AS deid_l
  FROM (
    SELECT
      {{ deid._carried(qis) }},
      SUM(deid_in_class) AS deid_size,
      MAX(deid_n) AS deid_most,
      MIN(CASE WHEN deid_n > 0 THEN deid_n END) AS deid_least,
      SUM(CASE WHEN deid_n > 0 THEN 1 ELSE 0 END) AS deid_values,
      CAST(SUM(deid_n) AS {{ deid.double() }}) AS deid_pairs,
      SUM({{ deid.weighted() }}) AS deid_weighted
    FROM (
      {{ deid._pairs(relation, qis, sensitive, subject) }}
    ) AS pairs
    GROUP BY {{ deid._carried(qis) }}
  ) AS measured
{% endmacro %}

{#- l of a class: of deid_values values, the most frequent is held by deid_most, the least by
    deid_least of its deid_size records or subjects, and all of them by deid_pairs. mark: what these
    names end with, but that of the size. -#}
{% macro diversity(kind, mark='') %}
  {%- set pairs = 'NULLIF(deid_pairs' ~ mark ~ ', 0)' -%}
  {%- set l = 'EXP(LN(' ~ pairs ~ ') - deid_weighted' ~ mark ~ ' / ' ~ pairs ~ ')' -%}
  CASE
      WHEN deid_size = 0 THEN 0
      WHEN deid_most{{ mark }} = deid_size THEN 1
      {%- if kind == 'entropy' %}
      -- exact, which EXP(LN(3)) is not
      WHEN deid_most{{ mark }} = deid_least{{ mark }} THEN CASE
        WHEN deid_values{{ mark }} < deid_size THEN deid_values{{ mark }}
        ELSE deid_size
      END
      WHEN {{ l }} < deid_size THEN {{ l }}
      {%- else %}
      WHEN deid_values{{ mark }} < deid_size THEN deid_values{{ mark }}
      {%- endif %}
      ELSE deid_size
    END
{%- endmacro %}

{#- What a value adds to the sum that an entropy is computed from. -#}
{% macro weighted(mark='') -%}
  {%- set n = 'deid_n' ~ mark -%}
  CASE WHEN {{ n }} > 1 THEN {{ n }} * LN(CAST({{ n }} AS {{ deid.double() }})) ELSE 0 END
{%- endmacro %}

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
    {{ deid._carried(qis) }},
    SUM(deid_n) AS deid_size,
    CASE
      WHEN SUM(deid_n) = 0 THEN 1
      -- what the class has too much of is what it has too little of others
      ELSE SUM(CASE WHEN deid_share > deid_overall THEN deid_share - deid_overall ELSE 0 END)
    END AS deid_t
  FROM (
    SELECT
      {{ deid._carried(qis) }},
      deid_n,
      CAST(deid_n AS {{ deid.double() }})
        / NULLIF(SUM(deid_n) OVER (PARTITION BY {{ deid._carried(qis) }}), 0) AS deid_share,
      CAST(SUM(deid_in_value) OVER (PARTITION BY deid_value) AS {{ deid.double() }})
        / NULLIF(SUM(deid_in_value) OVER (), 0) AS deid_overall
    FROM (
      {{ deid._pairs(relation, qis, sensitive, subject) }}
    ) AS counted
  ) AS pairs
  GROUP BY {{ deid._carried(qis) }}
{% endmacro %}

{#- Every class meets every value: the work is classes times values. -#}
{% macro default__class_closeness_ordered(relation, qis, sensitive, subject) %}
  {%- set order = 'ORDER BY CASE WHEN deid_value IS NULL THEN 1 ELSE 0 END, deid_value' -%}
  WITH deid_pairs AS (
    {{ deid._pairs(relation, qis, sensitive, subject) }}
  ),
  deid_scale AS (
    SELECT
      deid_value,
      ROW_NUMBER() OVER ({{ order }}) AS deid_place,
      CAST(SUM(deid_held) OVER (
        {{ order }} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS {{ deid.double() }}) / SUM(deid_held) OVER () AS deid_upto
    FROM (
      SELECT
        deid_value,
        SUM(deid_in_value) AS deid_held
      FROM deid_pairs
      GROUP BY deid_value
    ) AS held
    -- a value that nobody has takes no place
    WHERE deid_held > 0
  )
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
      {{ deid._carried(qis) }},
      deid_place,
      deid_overall,
      CAST(SUM(deid_n) OVER (
        PARTITION BY {{ deid._carried(qis) }}
        ORDER BY deid_place
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS {{ deid.double() }}) AS deid_upto,
      SUM(deid_n) OVER (PARTITION BY {{ deid._carried(qis) }}) AS deid_size
    FROM (
      -- joined by grouping, where NULL equals NULL, which few databases join by in linear time
      SELECT
        {{ deid._carried(qis) }},
        MAX(deid_place) AS deid_place,
        MAX(deid_upto) AS deid_overall,
        SUM(deid_n) AS deid_n
      FROM (
        SELECT
          {{ deid._carried(qis, 'classes.') }},
          deid_scale.deid_value,
          0 AS deid_n,
          deid_scale.deid_place,
          deid_scale.deid_upto
        FROM (
          SELECT DISTINCT {{ deid._carried(qis) }}
          FROM deid_pairs
        ) AS classes
        CROSS JOIN deid_scale
        UNION ALL
        SELECT
          {{ deid._carried(qis) }},
          deid_value,
          deid_n,
          NULL,
          NULL
        FROM deid_pairs
      ) AS met
      GROUP BY {{ deid._carried(qis) }}, deid_value
    ) AS summed
  ) AS running
  GROUP BY {{ deid._carried(qis) }}
{% endmacro %}

{#- The values of each class: deid_n, how many records or subjects have one; deid_in_class and
    deid_in_value, those of them that no other pair of the class, or of the value, counts, so that
    their sums count each subject once. -#}
{% macro _pairs(relation, qis, sensitive, subject) %}
  {%- if subject is none %}
  SELECT
    {{ deid._keys(qis) }},
    {{ sensitive }} AS deid_value,
    COUNT(*) AS deid_n,
    COUNT(*) AS deid_in_class,
    COUNT(*) AS deid_in_value
  FROM {{ relation }}
  GROUP BY {{ deid._listed(qis) }}, {{ sensitive }}
  {%- else %}
  SELECT
    {{ deid._carried(qis) }},
    deid_value,
    COUNT(deid_who) AS deid_n,
    SUM(CASE WHEN deid_who IS NOT NULL AND deid_of_class = 1 THEN 1 ELSE 0 END) AS deid_in_class,
    SUM(CASE WHEN deid_who IS NOT NULL AND deid_of_value = 1 THEN 1 ELSE 0 END) AS deid_in_value
  FROM (
    SELECT
      {{ deid._carried(qis) }},
      deid_value,
      deid_who,
      ROW_NUMBER() OVER (
        PARTITION BY {{ deid._carried(qis) }}, deid_who ORDER BY deid_value
      ) AS deid_of_class,
      ROW_NUMBER() OVER (
        PARTITION BY deid_value, deid_who ORDER BY {{ deid._carried(qis) }}
      ) AS deid_of_value
    FROM (
      SELECT DISTINCT
        {{ deid._keys(qis) }},
        {{ sensitive }} AS deid_value,
        {{ subject }} AS deid_who
      FROM {{ relation }}
    ) AS held
  ) AS counted
  GROUP BY {{ deid._carried(qis) }}, deid_value
  {%- endif %}
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
