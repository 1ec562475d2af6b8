{#- The gate of a release: what a model must declare, and what is measured of the table that was
    built before it may take its place. -#}

{#- The gate that a model declares, in `config(deid={…})` or in `config: {meta: {deid: {…}}}`.
    Stops where there is none, or where it promises nothing. -#}
{% macro declared_gate(model) %}
  {% set where = 'deid_release, model ' ~ model.name %}
  {% set own = model.config.get('deid') %}
  {% set meta = (model.config.get('meta') or {}).get('deid') %}
  {% if own is not none and meta is not none %}
    {% do deid.stop(where ~ ': two gates are declared', 'keep `deid` or `meta: {deid: …}`') %}
  {% endif %}
  {% set gate = meta if own is none else own %}
  {% if gate is none or gate is not mapping %}
    {% do deid.stop(
      where ~ ': no gate is declared, and without one nothing is released',
      "config(meta={'deid': {'quasi_identifiers': ['age', 'zip'], 'k': 5}})"
    ) %}
  {% endif %}
  {% do deid.known_keys(gate, [
    'quasi_identifiers', 'k', 'subject', 'l_diversity', 't_closeness', 'released_as_is',
    'direct_identifiers'
  ], where) %}
  {% for key in ['quasi_identifiers', 'k'] if gate.get(key) is none %}
    {% do deid.stop(
      where ~ ': the gate has no ' ~ key, "as in {'quasi_identifiers': ['age', 'zip'], 'k': 5}"
    ) %}
  {% endfor %}
  {% set direct = gate.get('direct_identifiers') or [] %}
  {% set as_is = gate.get('released_as_is') or [] %}
  {% set subject = gate.get('subject') %}
  {{ return({
    'where': where,
    'quasi_identifiers': deid.listed(gate.quasi_identifiers, where ~ ', quasi_identifiers'),
    'k': deid.number(gate.k, 1, none, 'k', true),
    'subject': none if subject is none else deid.listed([subject], where ~ ', subject')[0],
    'l_diversity': deid.diversities(gate.get('l_diversity')),
    't_closeness': deid.closenesses(gate.get('t_closeness')),
    'released_as_is': deid.listed(as_is, where ~ ', released_as_is') if as_is else [],
    'direct_identifiers': deid.listed(direct, where ~ ', direct_identifiers') if direct else [],
  }) }}
{% endmacro %}

{#- What a built relation does not keep of a gate, in sentences of numbers and names of columns;
    none where it may be released. -#}
{% macro gate_failures(relation, gate) %}
  {% set columns = deid.columns_of(relation) %}
  {% set known = columns | map('lower') | list %}
  {% set failures = [] %}
  {% set named = gate.quasi_identifiers + [gate.subject]
    + gate.l_diversity | map(attribute='column') | list
    + gate.t_closeness | map(attribute='column') | list + gate.released_as_is %}
  {% for name in named if name is not none and name | lower not in known %}
    {% do failures.append('there is no column ' ~ name) %}
  {% endfor %}
  {% set judged = deid.matching(columns, named | select | list + gate.direct_identifiers, []) %}
  {% for name in columns if name not in judged %}
    {% do failures.append(
      'the gate does not name column ' ~ name ~ ': list it in released_as_is, or leave it out'
    ) %}
  {% endfor %}
  {% for name in deid.matching(columns, gate.direct_identifiers, []) %}
    {% do failures.append('column ' ~ name ~ ' is a direct identifier') %}
  {% endfor %}
  {% for name in deid.telling_types(relation) %}
    {% do failures.append(
      'column ' ~ name ~ ' is an ENUM, whose type lists all original values; cast it to text'
    ) %}
  {% endfor %}
  {% if failures %}{{ return(failures) }}{% endif %}
  {% set qis = deid.found(relation, gate.quasi_identifiers, gate.where) %}
  {% set subject = deid.found_one(relation, gate.subject, gate.where) %}
  {% do failures.extend(deid._of_sizes(relation, qis, subject, gate)) %}
  {% for model in gate.l_diversity %}
    {% set sensitive = deid.found_one(relation, model.column, gate.where) %}
    {% set classes = deid.class_diversity(relation, qis, sensitive, model.kind, subject) %}
    {% set kept = deid.diverse('deid_l', model) %}
    {% do failures.extend(deid._of_model(
      classes, kept, 'MIN(deid_l)', model.kind ~ ' l-diversity of ' ~ model.column, 'l', model.l
    )) %}
  {% endfor %}
  {% for model in gate.t_closeness %}
    {% set sensitive = deid.found_one(relation, model.column, gate.where) %}
    {% set classes = deid.class_closeness(relation, qis, sensitive, model.ordered, subject) %}
    {% set kept = deid.close('deid_t', model) %}
    {% do failures.extend(deid._of_model(
      classes, kept, 'MAX(deid_t)', 't-closeness of ' ~ model.column, 't', model.t
    )) %}
  {% endfor %}
  {% do failures.extend(deid._of_values(relation, columns)) %}
  {{ return(failures) }}
{% endmacro %}

{% macro _of_sizes(relation, qis, subject, gate) %}
  {% set found = run_query(deid._sizes_query(relation, qis, subject, gate.k)).rows[0].values() %}
  {% set classes, smallest, records, small, inside = found[0], found[1], found[2], found[3], found[4] %}
  {% if not classes %}
    {{ return(['the table is empty, so that nothing was checked']) }}
  {% endif %}
  {% if not small %}{{ return([]) }}{% endif %}
  {{ return([
    'k-anonymity: the smallest class has ' ~ smallest | int ~ ' of ' ~ gate.k
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

{#- Values that a policy did not map, in any column. -#}
{% macro _of_values(relation, columns) %}
  {% set query %}
    SELECT
      {%- for name in columns %}
      SUM(CASE
        WHEN CAST({{ deid.quoted(name) }} AS {{ type_string() }})
          = {{ deid.literal(deid.unmapped()) }} THEN 1
        ELSE 0
      END) AS deid_c{{ loop.index0 }}{{ ',' if not loop.last }}
      {%- endfor %}
    FROM {{ relation }}
  {% endset %}
  {% set failures = [] %}
  {% set found = run_query(query).rows[0].values() %}
  {% for name in columns %}
    {% set count = found[loop.index0] | int %}
    {% if count %}
      {% do failures.append(
        'column ' ~ name ~ ': ' ~ count ~ ' records have a value that the policy does not map'
      ) %}
    {% endif %}
  {% endfor %}
  {{ return(failures) }}
{% endmacro %}

{#- Columns whose type tells original values. -#}
{% macro telling_types(relation) %}
  {{ return(adapter.dispatch('telling_types', 'deid')(relation)) }}
{% endmacro %}

{% macro default__telling_types(relation) %}{{ return([]) }}{% endmacro %}

{% macro duckdb__telling_types(relation) %}
  {% set found = [] %}
  {% for column in adapter.get_columns_in_relation(relation) %}
    {% if 'ENUM(' in column.data_type | upper or column.data_type | upper == 'ENUM' %}
      {% do found.append(column.name) %}
    {% endif %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}

{#- The columns that have one of some names, or match one of some patterns, in any case. -#}
{% macro matching(columns, names, patterns) %}
  {% set wanted = names | map('lower') | list %}
  {% set found = [] %}
  {% for name in columns %}
    {% set hits = [] %}
    {% for pattern in patterns if modules.re.fullmatch(pattern | lower, name | lower) %}
      {% do hits.append(pattern) %}
    {% endfor %}
    {% if hits or name | lower in wanted %}{% do found.append(name) %}{% endif %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}
