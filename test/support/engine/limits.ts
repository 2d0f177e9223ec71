import type { AccountRule, LimitsSpec } from '@weir/proxy/limits';

/** The limits of accounts by name, without those that are not given. */
export const limitsOf = (
  rules: Readonly<Record<string, Partial<AccountRule>>>,
  others?: Partial<AccountRule>,
): LimitsSpec => ({
  accounts: new Map(Object.entries(rules).map(([name, rule]) => [name, ruleOf(rule)])),
  others: others && ruleOf(others),
});

const ruleOf = (rule: Partial<AccountRule>): AccountRule => ({
  bytes: undefined,
  reset: 'never',
  until: undefined,
  devices: undefined,
  up: undefined,
  down: undefined,
  ...rule,
});
