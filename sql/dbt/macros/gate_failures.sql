{#- What is measured of a table that was built before it may take its place. -#}

{#- What a built relation does not keep of a plan, in sentences of numbers and names of columns; none
    where it may be released. -#}
{% macro gate_failures(relation, gate, plan) %}
  {% set failures = deid._of_columns(deid.types_of(relation), plan) %}
  {% if failures %}{{ return(failures) }}{% endif %}
  {% set qis = deid.found(relation, plan.quasi_identifiers, gate.where) %}
  {% set subject = deid.found_one(relation, plan.subject, gate.where) %}
  {% do failures.extend(deid._of_sizes(relation, qis, subject, plan.k)) %}
  {% for model in plan.l_diversity %}
    {% set sensitive = deid.found_one(relation, model.column, gate.where) %}
    {% set classes = deid.class_diversity(relation, qis, sensitive, model.kind, subject) %}
    {% set kept = deid.diverse('deid_l', model) %}
    {% do failures.extend(deid._of_model(
      classes, kept, 'MIN(deid_l)', model.kind ~ ' l-diversity of ' ~ model.column, 'l', model.l
    )) %}
  {% endfor %}
  {% for model in plan.t_closeness %}
    {% set sensitive = deid.found_one(relation, model.column, gate.where) %}
    {% set classes = deid.class_closeness(relation, qis, sensitive, model.ordered, subject) %}
    {% set kept = deid.close('deid_t', model) %}
    {% do failures.extend(deid._of_model(
      classes, kept, 'MAX(deid_t)', 't-closeness of ' ~ model.column, 't', model.t
    )) %}
  {% endfor %}
  {% do failures.extend(deid._of_records(relation, gate, plan)) %}
  {{ return(failures) }}
{% endmacro %}

{#- Columns that are not as planned: the subject may be there, and is taken out before the release. -#}
{% macro _of_columns(types, plan) %}
  {% set failures, seen, planned = [], [], {} %}
  {% for name, kind in plan.columns.items() %}{% do planned.update({name | lower: kind}) %}{% endfor %}
  {% set withheld = plan.withheld | map('lower') | list %}
  {% for name, found in types.items() %}
    {% set key, kind = name | lower, deid.type_name(found) %}
    {% if key in seen %}
      {% do failures.append('there are two columns ' ~ name) %}
    {% elif key in planned %}
      {% if deid.shown_type(found) | upper == 'ENUM' or 'ENUM(' in found | upper %}
        {% do failures.append(
          'column ' ~ name ~ ' is an ENUM, whose type lists all original values: cast it to text'
        ) %}
      {% elif kind != planned[key] %}
        {% do failures.append(
          'column ' ~ name ~ ' is ' ~ (kind or deid.shown_type(found)) ~ ' here, and '
          ~ planned[key] ~ ' in the plan: cast it, or plan again'
        ) %}
      {% endif %}
    {% elif key != plan.subject | lower %}
      {% do failures.append(
        'column ' ~ name ~ (' is withheld by the plan' if key in withheld
          else ' is not in the plan') ~ ': leave it out'
          ~ ('' if key in withheld else ', or give it a role and plan again')
      ) %}
    {% endif %}
    {% do seen.append(key) %}
  {% endfor %}
  {% for name in plan.columns if name | lower not in seen %}
    {% do failures.append(
      'there is no column ' ~ name ~ ', which the plan has: select it, or plan again without it'
    ) %}
  {% endfor %}
  {% if plan.subject is not none and plan.subject | lower not in seen %}
    {% do failures.append(
      'there is no column ' ~ plan.subject ~ ', whose values are counted: select it; it is not '
      ~ 'released'
    ) %}
  {% endif %}
  {{ return(failures) }}
{% endmacro %}

{% macro _of_sizes(relation, qis, subject, k) %}
  {% set found = run_query(deid._sizes_query(relation, qis, subject, k)).rows[0].values() %}
  {% set classes, smallest, records, small, inside = found[0], found[1], found[2], found[3], found[4] %}
  {% if not classes %}
    {{ return(['the table is empty, so that nothing was checked']) }}
  {% endif %}
  {% if not small %}{{ return([]) }}{% endif %}
  {{ return([
    'k-anonymity: the smallest class has ' ~ smallest | int ~ ' of ' ~ k
    ~ (' records; ' if subject is none else ' subjects; ')
    ~ inside | int ~ ' of ' ~ records | int ~ ' records are in ' ~ small | int ~ ' of '
    ~ classes | int ~ ' classes that are too small'
  ]) }}
{% endmacro %}

{% macro _sizes_query(relation, qis, subject, k) %}
  SELECT
    COUNT(*) AS deid_classes,
    MIN(deid_size) AS deid_smallest,
    SUM(deid_records) AS deid_all,
    SUM(CASE WHEN deid_size >= {{ k }} THEN 0 ELSE 1 END) AS deid_small,
    SUM(CASE WHEN deid_size >= {{ k }} THEN 0 ELSE deid_records END) AS deid_inside
  FROM (
    {{ deid.class_sizes(relation, qis, subject) }}
  ) AS classes
{% endmacro %}

{% macro _of_model(classes, kept, worst, name, sign, promised) %}
  {% set query %}
    SELECT
      {{ worst }} AS deid_worst,
      COUNT(*) AS deid_classes,
      -- the condition is what must hold, so that NULL fails
      SUM(CASE WHEN {{ kept }} THEN 0 ELSE 1 END) AS deid_failing
    FROM (
      {{ classes }}
    ) AS classes
  {% endset %}
  {% set found = run_query(query).rows[0].values() %}
  {% if not found[2] %}{{ return([]) }}{% endif %}
  {{ return([
    name ~ ': the worst class has ' ~ sign ~ ' = ' ~ '%.4g' | format(found[0] | float) ~ ', not '
    ~ promised ~ '; ' ~ found[2] | int ~ ' of ' ~ found[1] | int ~ ' classes fail'
  ]) }}
{% endmacro %}
