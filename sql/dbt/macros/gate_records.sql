{#- How the records of a table that was built are compared with those of its source. -#}

{#- Records that are none of the plan: each must be one of the source, generalized by the rules of
    the plan, no more often than there; and no more may be missing than the plan allows. Values that
    the plan does not map are told by their column. -#}
{% macro _of_records(relation, gate, plan) %}
  {% set names = deid._compared(plan) %}
  {% set found = run_query(deid._records_query(relation, gate, plan, names)).rows[0].values() %}
  {% set failures = [] %}
  {% set all, kept, foreign, missing, nobodys = found[0] | int, found[1] | int, found[2] | int,
    found[3] | int, found[4] | int %}
  {% for name in names %}
    {% set count = found[5 + loop.index0] | int %}
    {% if count %}
      {% do failures.append(
        'column ' ~ name ~ ': ' ~ count ~ ' records have a value that the policy does not map: '
        ~ 'recode it before, or add it to the domain and plan again'
      ) %}
    {% endif %}
  {% endfor %}
  {% if nobodys %}
    {% do failures.append(
      nobodys ~ ' records have no ' ~ plan.subject ~ ', so that nobody knows whose they are: '
      ~ 'leave them out of the source'
    ) %}
  {% endif %}
  {% if foreign %}
    {% do failures.append(
      foreign ~ ' of ' ~ kept ~ ' records are not those of ' ~ gate.source.identifier
      ~ ' as the plan generalizes them, or are there more often: select each record once, with '
      ~ 'deid.generalize for what the plan generalizes and all else as it is'
    ) %}
  {% endif %}
  {% if missing > all * plan.suppression_limit + 0.000001 %}
    {% do failures.append(
      missing ~ ' of ' ~ all ~ (' records' if plan.subject is none else ' subjects lose records that')
      ~ ' are left out, and the plan allows ' ~ (all * plan.suppression_limit + 0.000001) | int
      ~ ': plan again, or with a larger suppression_limit'
    ) %}
  {% endif %}
  {{ return(failures) }}
{% endmacro %}

{#- The columns by which records are compared: those of the plan, and the subject. -#}
{% macro _compared(plan) %}
  {% set names = plan.columns.keys() | list %}
  {% if plan.subject is not none and plan.subject | lower not in names | map('lower') | list %}
    {% do names.append(plan.subject) %}
  {% endif %}
  {{ return(names) }}
{% endmacro %}

{#- Grouped, where NULL equals NULL; a join by that is quadratic on PostgreSQL. -#}
{% macro _records_query(relation, gate, plan, names) %}
  {%- set here = deid.found(relation, names, gate.where) -%}
  {%- set there = deid.found(gate.source, names, gate.where ~ ', source') -%}
  {%- set who = 'deid_c' ~ (names | map('lower') | list).index(plan.subject | lower)
    if plan.subject is not none else none -%}
  SELECT
    {%- if who is none %}
    SUM(deid_planned) AS deid_all,
    {%- else %}
    COUNT(DISTINCT CASE WHEN deid_planned > 0 THEN {{ who }} END) AS deid_all,
    {%- endif %}
    SUM(deid_released) AS deid_kept,
    SUM(CASE WHEN deid_released > deid_planned THEN deid_released - deid_planned ELSE 0 END)
      AS deid_foreign,
    {%- if who is none %}
    SUM(CASE WHEN deid_planned > deid_released THEN deid_planned - deid_released ELSE 0 END)
      AS deid_missing,
    0 AS deid_nobodys
    {%- else %}
    COUNT(DISTINCT CASE WHEN deid_planned > deid_released THEN {{ who }} END) AS deid_missing,
    SUM(CASE WHEN {{ who }} IS NULL THEN deid_released ELSE 0 END) AS deid_nobodys
    {%- endif %}
    {%- for _ in names %},
    SUM(CASE
      WHEN CAST(deid_c{{ loop.index0 }} AS {{ type_string() }}) = {{ deid.literal(deid.unmapped()) }}
        THEN deid_released
      ELSE 0
    END) AS deid_u{{ loop.index0 }}
    {%- endfor %}
  FROM (
    SELECT
      {%- for _ in names %}
      deid_c{{ loop.index0 }},
      {%- endfor %}
      SUM(deid_released) AS deid_released,
      SUM(deid_planned) AS deid_planned
    FROM (
      SELECT
        {%- for column in here %}
        {{ deid._exact(column, names[loop.index0], plan) }} AS deid_c{{ loop.index0 }},
        {%- endfor %}
        1 AS deid_released,
        0 AS deid_planned
      FROM {{ relation }}
      UNION ALL
      SELECT
        {%- for name in names %}
        {{ deid._as_planned(there[loop.index0], name, plan) }},
        {%- endfor %}
        0,
        1
      FROM {{ gate.source }}
    ) AS deid_both
    GROUP BY
      {%- for _ in names %} deid_c{{ loop.index0 }}{{ ',' if not loop.last }}{% endfor %}
  ) AS deid_compared
{% endmacro %}

{#- A column of the source as the plan releases it. -#}
{% macro _as_planned(value, name, plan) %}
  {%- if name in plan.rules -%}
    {{ return(deid._exact(deid.generalized(value, plan.rules[name]), name, plan)) }}
  {%- endif -%}
  {{ return(
    'CAST(' ~ value ~ ' AS ' ~ type_string() ~ ')' if plan.columns.get(name) == 'text'
    else deid._exact(value, name, plan)
  ) }}
{% endmacro %}

{#- A value by which equal ones read alike: 5.0 and 5.00 are equal, and their zeros could tell more. -#}
{% macro _exact(value, name, plan) %}
  {{ return(
    'CAST(' ~ value ~ ' AS ' ~ type_string() ~ ')'
    if plan.columns.get(name) in ['decimal', 'float'] else value
  ) }}
{% endmacro %}
