/*
 * Evaluates the output of `nft -j list ruleset` (libnftables-json(5)) to whether packets between two interfaces are
 * forwarded. iptables-nft creates rules of the same kind; those of iptables-legacy are not included.
 */

import { jsonIn } from '@weir/base/text/json';

type JsonObject = Readonly<Record<string, unknown>>;

interface Chain {
  /** The family and the table, within which jumps stay. */
  readonly table: string;
  readonly name: string;
  /** The hook of a base chain. */
  readonly hook: string | undefined;
  readonly priority: number;
  readonly policy: string;
  readonly rules: JsonObject[][];
}

export interface FirewallFacts {
  readonly chains: ReadonlyMap<string, Chain>;
  /** Whether connections from outside are forwarded to other hosts (DNAT), such as containers. */
  readonly hasPortForwards: boolean;
  /** Whether incoming connections are marked. */
  readonly marksConnections: boolean;
}

/** A packet that the machine would forward. */
interface ForwardedPacket {
  readonly from: string;
  readonly to: string;
  readonly family: 4 | 6;
  /** Whether the packet is the first of its connection. */
  readonly isNew: boolean;
}

/** Maximum numbers of chains and rules; further ones are not read. */
const MOST_CHAINS = 4096;
const MOST_RULES_OF_ALL = 65_536;
/** Maximum number of rules that one packet is evaluated against, including jumps, and of nested jumps. */
const MOST_STEPS = 65_536;
const DEEPEST_JUMP = 16;

const asObject = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null ? (value as JsonObject) : {};
const asText = (value: unknown): string => (typeof value === 'string' ? value : '');
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Parses a ruleset. @returns `undefined` for text that is not the JSON of a ruleset */
export function readRuleset(text: string): FirewallFacts | undefined {
  const list = asObject(jsonIn(text))['nftables'];
  if (!Array.isArray(list)) return undefined;
  const chains = new Map<string, Chain>();
  let rules = 0;
  let hasPortForwards = false;
  let marksConnections = false;
  for (const item of list as readonly unknown[]) {
    const chain = asObject(asObject(item)['chain']);
    if (asText(chain['name']) !== '' && chains.size < MOST_CHAINS) {
      const table = `${asText(chain['family'])} ${asText(chain['table'])}`;
      const name = asText(chain['name']);
      chains.set(`${table} ${name}`, {
        table,
        name,
        hook: typeof chain['hook'] === 'string' ? chain['hook'] : undefined,
        priority: typeof chain['prio'] === 'number' ? chain['prio'] : 0,
        policy: asText(chain['policy']),
        rules: [],
      });
    }
    const rule = asObject(asObject(item)['rule']);
    const place = `${asText(rule['family'])} ${asText(rule['table'])} ${asText(rule['chain'])}`;
    const own = chains.get(place);
    if (!own || rules >= MOST_RULES_OF_ALL) continue;
    rules++;
    const expressions = asList(rule['expr']).map(asObject);
    own.rules.push(expressions);
    hasPortForwards ||= expressions.some((each) => 'dnat' in each || isTarget(each, 'DNAT'));
    marksConnections ||= expressions.some(setsConnectionMark);
  }
  return { chains, hasPortForwards, marksConnections };
}

const isTarget = (expression: JsonObject, name: string): boolean => {
  const { type, name: target } = asObject(expression['xt']);
  return type === 'target' && target === name;
};

function setsConnectionMark(expression: JsonObject): boolean {
  const key = asObject(asObject(asObject(expression['mangle'])['key'])['ct'])['key'];
  return key === 'mark' || isTarget(expression, 'CONNMARK');
}

/** The verdict of rules; `open` when no rule has decided. */
type Verdict = 'accept' | 'drop' | 'unknown' | 'open';

/**
 * Whether the firewall certainly drops a packet. Conditions other than interfaces and the state of the connection are
 * not evaluated: a packet that such a rule may accept counts as accepted.
 *
 * @returns the chain that drops the packet; `undefined` if none does
 */
export function droppingChain(
  { chains }: FirewallFacts,
  packet: ForwardedPacket,
): string | undefined {
  const bases = [...chains.values()]
    .filter(({ hook, table }) => hook === 'forward' && isOfFamily(table, packet.family))
    .sort((one, other) => one.priority - other.priority);
  const walk = new Walk(chains, packet);
  for (const base of bases) {
    const verdict = walk.through(base, 0);
    // Each base chain decides independently: another one may drop what one accepts.
    if (verdict === 'drop' || (verdict === 'open' && base.policy === 'drop')) {
      return `${base.table} ${base.name}`;
    }
  }
  return undefined;
}

const isOfFamily = (table: string, family: 4 | 6): boolean =>
  table.startsWith('inet ') || table.startsWith(family === 4 ? 'ip ' : 'ip6 ');

class Walk {
  readonly #chains: ReadonlyMap<string, Chain>;
  readonly #packet: ForwardedPacket;
  #steps = 0;

  constructor(chains: ReadonlyMap<string, Chain>, packet: ForwardedPacket) {
    this.#chains = chains;
    this.#packet = packet;
  }

  through(chain: Chain, depth: number): Verdict {
    let mayBeAccepted = false;
    for (const rule of chain.rules) {
      if (++this.#steps > MOST_STEPS) return 'unknown';
      let fits: boolean | undefined = true;
      for (const expression of rule) {
        const own = this.#fits(expression);
        if (own === false) fits = false;
        else if (own === undefined && fits === true) fits = undefined;
      }
      if (fits === false) continue;
      const verdict = this.#verdictOf(rule, chain, depth);
      if (verdict === 'return') {
        if (fits === true) break;
        continue;
      }
      if (verdict === 'open') continue;
      if (fits === true && verdict !== 'unknown') return mayBeAccepted ? 'unknown' : verdict;
      // A rule that drops only some packets does not justify a finding.
      if (verdict !== 'drop') mayBeAccepted = true;
    }
    return mayBeAccepted ? 'unknown' : 'open';
  }

  #verdictOf(rule: readonly JsonObject[], chain: Chain, depth: number): Verdict | 'return' {
    for (const expression of rule) {
      if ('accept' in expression || isTarget(expression, 'ACCEPT')) return 'accept';
      if ('drop' in expression || 'reject' in expression || isTarget(expression, 'REJECT')) {
        return 'drop';
      }
      if ('return' in expression) return 'return';
      // A verdict map, or a queue for a program.
      if ('vmap' in expression || 'queue' in expression) return 'unknown';
      const target = asText(asObject(expression['jump'] ?? expression['goto'])['target']);
      if (target === '') continue;
      const next = this.#chains.get(`${chain.table} ${target}`);
      if (!next || depth >= DEEPEST_JUMP) return 'unknown';
      const verdict = this.through(next, depth + 1);
      if (verdict !== 'open' || 'jump' in expression) return verdict;
      // A chain entered by `goto` does not return here: this chain's policy decides what it leaves open.
      return chain.policy === 'drop' ? 'drop' : 'return';
    }
    return 'open';
  }

  /** Whether the packet meets a condition; true for an expression that is not a condition. */
  #fits(expression: JsonObject): boolean | undefined {
    const xt = asObject(expression['xt']);
    if (xt['type'] === 'match') {
      // Its arguments are not listed. In chains of the forward hook it is `--ctstate RELATED,ESTABLISHED`.
      return xt['name'] === 'conntrack' ? !this.#packet.isNew : undefined;
    }
    if (!('match' in expression)) return true;
    const { left, right, op } = asObject(expression['match']);
    const isInverted = op === '!=';
    const found = this.#compared(asObject(left), right);
    return found === undefined ? undefined : found !== isInverted;
  }

  #compared(left: JsonObject, right: unknown): boolean | undefined {
    const meta = asText(asObject(left['meta'])['key']);
    if (meta === 'iifname' || meta === 'iif') return hasName(right, this.#packet.from);
    if (meta === 'oifname' || meta === 'oif') return hasName(right, this.#packet.to);
    const connection = asText(asObject(left['ct'])['key']);
    if (connection !== 'state') return undefined;
    const states = wordsOf(right);
    if (states.length === 0) return undefined;
    return states.includes(this.#packet.isNew ? 'new' : 'established');
  }
}

/** The texts of a value: one, a list, or a set in braces. */
function wordsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  const list = Array.isArray(value) ? value : asList(asObject(value)['set']);
  return (list as readonly unknown[]).filter((each) => typeof each === 'string');
}

/** Whether a value includes a name; `undefined` for a value of another form, such as a named set. */
function hasName(value: unknown, name: string): boolean | undefined {
  const names = wordsOf(value);
  if (names.length === 0 || names.some((each) => each.startsWith('@'))) return undefined;
  return names.some((each) =>
    each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : each === name,
  );
}
