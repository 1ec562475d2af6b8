{#- What `dbdeid dbt plan` wrote as a seed: what a release promises, which columns of which types it
    has, and how they are generalized. -#}

{#- The rules that say how a column is generalized. -#}
{% macro generalizing() %}
  {{ return(['value', 'numbers', 'dates', 'top', 'keep', 'prefix', 'intervals', 'calendar']) }}
{% endmacro %}

{#- The plan in a policy: columns (type by name), quasi_identifiers, rules (by column), k,
    suppression_limit, subject, l_diversity, t_closeness, withheld. Stops where a part is missing
    or is none. -#}
{% macro plan_of(policy) %}
  {% set plan = {
    'columns': {}, 'rules': {}, 'k': none, 'suppression_limit': none, 'subject': none,
    'l_diversity': [], 't_closeness': [], 'withheld': []
  } %}
  {% set generalizing = deid.generalizing() %}
  {% for row in deid._lines(policy) %}
    {% if row[1] not in generalizing %}
      {% do deid._promised(plan, row[0], row[1], row[2], row[3]) %}
    {% elif row[0] in plan.rules %}
      {% do plan.rules[row[0]].append(deid._rule(row)) %}
    {% else %}
      {% do plan.rules.update({row[0]: [deid._rule(row)]}) %}
    {% endif %}
  {% endfor %}
  {% for key in ['k', 'suppression_limit', 'columns', 'rules'] if plan[key] in [none, {}] %}
    {% do deid.stop(
      'the policy ' ~ policy ~ ' does not say ' ~ {
        'k': 'how large a class must be', 'suppression_limit': 'how many records may be left out',
        'columns': 'which columns are released', 'rules': 'how a column is generalized'
      }[key],
      'write it anew with `dbdeid dbt plan`, and run `dbt seed`'
    ) %}
  {% endfor %}
  {% set kinds = deid.type_names().values() | list + ['as_source'] %}
  {% for name, kind in plan.columns.items() if kind not in kinds %}{% do deid._broken() %}{% endfor %}
  {% for name in plan.rules if name not in plan.columns %}{% do deid._broken() %}{% endfor %}
  {% do plan.update({
    'quasi_identifiers': plan.rules.keys() | list,
    'l_diversity': deid.diversities(plan.l_diversity),
    't_closeness': deid.closenesses(plan.t_closeness),
  }) %}
  {{ return(plan) }}
{% endmacro %}

{#- Gives a plan that was made of counts, which tell no types, those that the source has. -#}
{% macro take_types(gate, plan) %}
  {% set open = [] %}
  {% for name, kind in plan.columns.items() if kind == 'as_source' %}{% do open.append(name) %}{% endfor %}
  {% set types = {} %}
  {% if open %}
    {% for name, kind in deid.types_of(gate.source).items() %}{% do types.update({name | lower: kind}) %}{% endfor %}
  {% endif %}
  {% for name in open %}
    {% set found = types.get(name | lower) %}
    {% if found is none or deid.type_name(found) is none %}
      {% do deid.stop(
        gate.where ~ ': column ' ~ name ~ ' has the type of the source in the plan, and '
          ~ ('there it is ' ~ deid.shown_type(found) if found else 'there is none of this name'),
        'cast it to a plain type in the model that `source` names'
      ) %}
    {% endif %}
    {% do plan.columns.update({name: deid.type_name(found)}) %}
  {% endfor %}
{% endmacro %}

{#- Enters a line that generalizes nothing into a plan. -#}
{% macro _promised(plan, column, rule, argument, label) %}
  {% if rule == 'column' %}
    {% if column | lower in plan.columns.keys() | map('lower') %}{% do deid._broken() %}{% endif %}
    {% do plan.columns.update({column: argument}) %}
  {% elif rule == 'k' and plan.k is none %}
    {% do plan.update({'k': deid.number(deid._number(argument), 1, none, 'k', true)}) %}
  {% elif rule == 'suppression_limit' and plan.suppression_limit is none %}
    {% do plan.update({
      'suppression_limit': deid.number(deid._number(argument), 0, 1, 'suppression_limit', false)
    }) %}
  {% elif rule == 'subject' and plan.subject is none %}
    {% do plan.update({'subject': column}) %}
  {% elif rule == 'withheld' %}
    {% do plan.withheld.append(column) %}
  {% elif rule == 'l_diversity' %}
    {% do plan.l_diversity.append(
      {'column': column, 'l': deid._number(argument), 'kind': label}
    ) %}
  {% elif rule == 't_closeness' %}
    {% do plan.t_closeness.append(
      {'column': column, 't': deid._number(argument), 'ordered': label == 'ordered'}
    ) %}
  {% elif rule != 'policy' %}
    {% do deid._broken() %}
  {% endif %}
{% endmacro %}

{% macro _number(text) %}
  {% if not modules.re.fullmatch('[0-9]{1,15}([.][0-9]{1,20})?', text or '') %}
    {% do deid._broken() %}
  {% endif %}
  {{ return(text | float if '.' in text else text | int) }}
{% endmacro %}

{#- The lines of a policy in their order, all of them or those that generalize one column. -#}
{% macro _lines(policy, column=none) %}
  {% if load_relation(policy) is none %}
    {% do deid.stop('the policy ' ~ policy ~ ' is not there', 'run `dbt seed` first') %}
  {% endif %}
  {% set query %}
    SELECT
      column_name,
      rule,
      argument,
      label,
      lower_end,
      upper_end
    FROM {{ deid.whole(policy) }}
    {%- if column is not none %}
    WHERE LOWER(column_name) = {{ deid.literal(column | lower) }}
      AND rule IN ('{{ deid.generalizing() | join("', '") }}')
    {%- endif %}
    ORDER BY CAST(place AS INTEGER)
  {% endset %}
  {{ return(run_query(query).rows) }}
{% endmacro %}

{% macro _rule(row) %}
  {{ return({
    'rule': row[1], 'argument': row[2], 'label': row[3],
    'lower': deid._end(row[4]), 'upper': deid._end(row[5])
  }) }}
{% endmacro %}

{#- An end of a range; none where it is open. A session of Spark gets the text None for nothing. -#}
{% macro _end(text) %}{{ return(none if text in ['', 'None'] else text) }}{% endmacro %}

{#- The rules of a policy for one column, in their order: mappings of rule, argument, label, lower,
    upper. Stops where there are none. -#}
{% macro rules(policy, column) %}
  {% set found = [] %}
  {% for row in deid._lines(policy, column) %}{% do found.append(deid._rule(row)) %}{% endfor %}
  {% if not found %}
    {% do deid.stop(
      'the policy ' ~ policy ~ ' says nothing of column ' ~ column,
      'plan it again with that column as a quasi-identifier'
    ) %}
  {% endif %}
  {{ return(found) }}
{% endmacro %}

{#- The columns that a policy generalizes. -#}
{% macro planned_columns(policy) %}
  {% set found = [] %}
  {% for row in deid._lines(policy) if row[0] not in found and row[1] in deid.generalizing() %}
    {% do found.append(row[0]) %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}

{% macro _broken() %}
  {% do deid.stop(
    'a policy has a rule that is none', 'write it anew with `dbdeid dbt plan`, and run `dbt seed`'
  ) %}
{% endmacro %}
