{#- A column generalized by a policy that `dbdeid dbt plan` wrote as a seed.

    column: its name, in the query around and in the policy. policy: ref('visits_policy').
    The result is text, but for a column that the policy keeps. NULL stays NULL, and is * where the
    policy says * for all. A value that the policy does not map reads (unmapped): it tells nothing,
    and the gate of deid_release and the test no_unmapped_values find it. -#}
{% macro generalize(column, policy) %}
  {%- if not execute %}{{ return(deid.named(column)) }}{% endif -%}
  {%- set rules = deid.rules(policy, column) -%}
  {{ return(deid.generalized(deid.named(column), rules)) }}
{% endmacro %}

{#- A value as SQL has it, generalized by the rules of its column. -#}
{% macro generalized(value, rules) %}
  {%- set rule = rules[-1].rule -%}
  {%- if rule == 'keep' -%}{{ return(value) }}{%- endif -%}
  {%- if rule == 'top' -%}
    {{ return('CAST(' ~ deid.literal(rules[-1].label) ~ ' AS ' ~ type_string() ~ ')') }}
  {%- endif -%}
  {{ return(deid._mapped(value, rules)) }}
{% endmacro %}

{#- One CASE over all rules of a column: values by their labels, then ranges, then what is computed.
    The condition of the last is all that is left. -#}
{% macro _mapped(value, rules) %}
  {%- set text = 'CAST(' ~ value ~ ' AS ' ~ type_string() ~ ')' -%}
  {%- set listed, ranges, last = {}, [], [] -%}
  {%- for one in rules -%}
    {%- if one.rule == 'value' -%}
      {%- if one.label not in listed %}{% do listed.update({one.label: []}) %}{% endif -%}
      {%- do listed[one.label].append(deid.literal(one.argument)) -%}
    {%- elif one.rule in ['numbers', 'dates'] -%}
      {%- do ranges.append(one) -%}
    {%- else -%}
      {%- do last.append(deid._computed(value, text, one)) -%}
    {%- endif -%}
  {%- endfor -%}
  CASE
    WHEN {{ value }} IS NULL THEN NULL
    {%- for label, values in listed.items() %}
    WHEN {{ text }} IN ({{ values | join(', ') }}) THEN {{ deid.literal(label) }}
    {%- endfor %}
    {%- for one in ranges %}
    WHEN {{ deid._within(value, one) }} THEN {{ deid.literal(one.label) }}
    {%- endfor %}
    ELSE {{ last[0] if last else deid.literal(deid.unmapped()) }}
  END
{%- endmacro %}

{#- Whether a value lies in [lower, upper), of which one may be open. -#}
{% macro _within(value, rule) %}
  {%- set ends = [] -%}
  {%- for end, sign in [(rule.lower, ' >= '), (rule.upper, ' < ')] if end is not none -%}
    {%- set number = modules.re.fullmatch('-?[0-9]+([.][0-9]+)?', end) -%}
    {%- set day = modules.re.fullmatch('[0-9]{4}-[0-9]{2}-[0-9]{2}', end) -%}
    {%- if rule.rule == 'numbers' and number -%}
      {%- do ends.append(value ~ sign ~ end) -%}
    {%- elif rule.rule == 'dates' and day -%}
      {%- do ends.append(value ~ sign ~ 'CAST(' ~ deid.literal(end) ~ ' AS DATE)') -%}
    {%- else -%}
      {%- do deid._broken() -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if not ends %}{% do deid._broken() %}{% endif -%}
  {{ return(ends | join(' AND ')) }}
{% endmacro %}

{#- The label of a rule that is computed from the value. -#}
{% macro _computed(value, text, rule) %}
  {%- if not modules.re.fullmatch('-?[0-9]{1,15}( [0-9]{1,15})?|[a-z]+', rule.argument or '') -%}
    {%- do deid._broken() -%}
  {%- endif -%}
  {%- if rule.rule == 'prefix' -%}
    {{ return(deid.prefix_label(text, rule.argument)) }}
  {%- elif rule.rule == 'intervals' -%}
    {%- set origin, width = rule.argument.split(' ') -%}
    {{ return(deid.interval_label(value, origin, width)) }}
  {%- elif rule.rule == 'calendar' -%}
    {{ return(deid.date_label(value, rule.argument)) }}
  {%- endif -%}
  {%- do deid._broken() -%}
{% endmacro %}

{#- The first characters of a text, the rest replaced by one * a character. -#}
{% macro prefix_label(text, length) %}
  {{ return(adapter.dispatch('prefix_label', 'deid')(text, length)) }}
{% endmacro %}

{% macro default__prefix_label(text, length) %}
  CASE
    WHEN LENGTH({{ text }}) > {{ length }}
      THEN SUBSTR({{ text }}, 1, {{ length }}) || REPEAT('*', LENGTH({{ text }}) - {{ length }})
    ELSE {{ text }}
  END
{%- endmacro %}

{#- The interval [a, b) of a width that a number falls into; both are whole numbers. -#}
{% macro interval_label(value, origin, width) %}
  {{ return(adapter.dispatch('interval_label', 'deid')(value, origin, width)) }}
{% endmacro %}

{% macro default__interval_label(value, origin, width) %}
  {%- set start -%}
    CAST(FLOOR(({{ value }} - {{ origin }}.0) / {{ width }}.0) AS {{ type_bigint() }}) * {{ width }}
  {%- endset -%}
  '[' || CAST({{ start }} + {{ origin }} AS {{ type_string() }}) || ', '
    || CAST({{ start }} + {{ origin | int + width | int }} AS {{ type_string() }}) || ')'
{%- endmacro %}

{#- What a day reads by unit of the calendar. -#}
{% macro date_label(value, unit) %}
  {{ return(adapter.dispatch('date_label', 'deid')(value, unit)) }}
{% endmacro %}

{% macro default__date_label(value, unit) %}
  {%- set year = 'CAST(EXTRACT(YEAR FROM ' ~ value ~ ') AS ' ~ type_string() ~ ')' -%}
  {%- set four = "LPAD(" ~ year ~ ", 4, '0')" -%}
  {%- set month = 'CAST(EXTRACT(MONTH FROM ' ~ value ~ ') AS ' ~ type_string() ~ ')' -%}
  {%- set quarter = 'CAST(EXTRACT(QUARTER FROM ' ~ value ~ ') AS ' ~ type_string() ~ ')' -%}
  {%- if unit == 'year' -%}
    {{ return(four) }}
  {%- elif unit == 'month' -%}
    {{ return(four ~ " || '-' || LPAD(" ~ month ~ ", 2, '0')") }}
  {%- elif unit == 'quarter' -%}
    {{ return(four ~ " || '-Q' || " ~ quarter) }}
  {%- elif unit == 'decade' -%}
    {{ return("SUBSTR(" ~ four ~ ", 1, 3) || '0s'") }}
  {%- endif -%}
  {%- do deid.stop(
    'dates by ' ~ unit ~ ' are not known for this database',
    'override deid.date_label in your project, as <adapter>__date_label'
  ) -%}
{% endmacro %}

{% macro duckdb__date_label(value, unit) %}
  {%- if unit == 'week' -%}{{ return("STRFTIME(" ~ value ~ ", '%G-W%V')") }}{%- endif -%}
  {{ return(deid.default__date_label(value, unit)) }}
{% endmacro %}

{#- Whether a released value is none that the rules give; of computed labels only (unmapped). -#}
{% macro _unlike(name, rules) %}
  {%- set text = 'CAST(' ~ deid.quoted(name) ~ ' AS ' ~ type_string() ~ ')' -%}
  {%- set labels = [] -%}
  {%- for one in rules if one.label is not none and one.label not in labels -%}
    {%- do labels.append(one.label) -%}
  {%- endfor -%}
  {%- set literals = [] -%}
  {%- for label in labels %}{% do literals.append(deid.literal(label)) %}{% endfor -%}
  {%- if rules[-1].rule in ['value', 'numbers', 'dates', 'top'] -%}
    {{ return(text ~ ' NOT IN (' ~ literals | join(', ') ~ ')') }}
  {%- endif -%}
  {{ return(text ~ ' = ' ~ deid.literal(deid.unmapped())) }}
{% endmacro %}
