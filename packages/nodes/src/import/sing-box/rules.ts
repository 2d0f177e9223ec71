import { ForeignObject, ImportError } from '@weir/proxy/protocols/forms';
import { SING_BOX_RULE_KEYS } from '../keys/sing-box.ts';
import {
  both,
  type Matchers,
  type RuleEntry,
  type Target,
  NOT_ANSWERED,
  NOT_RESOLVED,
  type TargetNames,
} from '../routing.ts';
import { everyAddress, isVersion6, portRangeOf } from '../values/networks.ts';
import {
  destinationsOf,
  isSet,
  isUnlimited,
  type RuleSets,
  sourceOf,
  textsOf,
} from './rule-sets.ts';
import { notesOnRule } from '../verdicts.ts';

/** The context of a document's rules. */
interface RuleScope {
  readonly names: TargetNames;
  readonly ruleSets: RuleSets;
  /** Names of outbounds of the type `dns`. */
  readonly dnsOutbounds: ReadonlySet<string>;
  /** sing-box's initial mode, in lower case. */
  readonly mode: string;
  /** The target of flows with queries that sing-box would answer and Weir does not. */
  readonly queries: Target | undefined;
  /** The target of flows that `resolve` would have made match later rules. */
  readonly resolved: Target | undefined;
}

/** Reads one of `route.rules`. */
export function readRule(value: unknown, source: string, scope: RuleScope): RuleEntry {
  let target: Target | undefined;
  try {
    const fields = new ForeignObject(value);
    const action = actionOf(fields, scope);
    if ('needless' in action) return { source, ...action };
    target = action.target;
    if ('skipped' in action) return { source, ...action };
    const found = conditionOf(fields, scope, 0);
    const notes = [...action.notes, ...found.notes, ...notesOnRule(fields, SING_BOX_RULE_KEYS)];
    if (found.any.length === 0) {
      return { source, needless: found.never ?? 'it can never match a flow of Weir' };
    }
    return { source, any: found.any, target: action.target, notes: [...new Set(notes)] };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { source, skipped: error.message, target };
  }
}

type Action =
  | { readonly target: Target; readonly notes: readonly string[] }
  | { readonly skipped: string; readonly target: Target | undefined }
  | { readonly needless: string };

const DIRECT: Target = { kind: 'direct' };

/** Reads the action of a rule. @throws {ImportError} for an unknown action */
function actionOf(fields: ForeignObject, scope: RuleScope): Action {
  const action = fields.text('action') ?? '';
  switch (action) {
    case '':
    case 'route': {
      const outbound = fields.text('outbound') ?? '';
      if (outbound === '') throw new ImportError('it names no outbound');
      if (scope.dnsOutbounds.has(outbound)) return hijacked(scope);
      return { target: scope.names.of(outbound), notes: [] };
    }
    case 'reject':
      return { target: { kind: 'blackhole' }, notes: [] };
    case 'direct':
      return { target: DIRECT, notes: [] };
    case 'hijack-dns':
      return hijacked(scope);
    case 'sniff':
      return sniffed(fields);
    case 'resolve':
      return {
        skipped: NOT_RESOLVED,
        target: scope.resolved,
      };
    case 'route-options':
      return { skipped: 'options of flows are not supported', target: DIRECT };
    case 'bypass':
      return { skipped: 'flows cannot bypass Weir in the kernel', target: bypassed(fields, scope) };
    default:
      throw new ImportError(`the action ${JSON.stringify(action)} is unknown here`);
  }
}

const hijacked = ({ queries }: RuleScope): Action => ({
  skipped: NOT_ANSWERED,
  target: queries,
});

function bypassed(fields: ForeignObject, { names }: RuleScope): Target {
  const outbound = fields.text('outbound') ?? '';
  return outbound === '' ? DIRECT : names.of(outbound);
}

/** The action `sniff`. Sniffing is a property of inbounds: see `sniffingOf`. */
function sniffed(fields: ForeignObject): Action {
  const others = fields.keys.filter((key) => !SNIFFED.has(key));
  return others.length === 0
    ? { needless: 'inbounds sniff names' }
    : {
        skipped:
          `every flow of an inbound that sniffs is sniffed, whatever its ${others.join(', ')}`.slice(
            0,
            200,
          ),
        target: DIRECT,
      };
}

const SNIFFED: ReadonlySet<string> = new Set(['action', 'inbound', 'sniffer', 'timeout']);

/** The condition of a rule: one of the alternatives has to match, or the rule never does. */
interface Condition {
  readonly any: readonly Matchers[];
  readonly notes: readonly string[];
  /** Why the rule never matches. */
  readonly never?: string;
}

const OTHER_MODE = 'it is for another mode than sing-box starts in, and Weir has no modes';

/** Maximum nesting of logical rules. */
const MAX_DEPTH = 8;

/** Reads the condition of a rule. @throws {ImportError} for a condition that Weir lacks */
function conditionOf(fields: ForeignObject, scope: RuleScope, depth: number): Condition {
  if (isSet(fields, 'invert')) {
    throw new ImportError('"invert": Weir has no rules for flows that do not match');
  }
  const type = fields.text('type') ?? '';
  if (type === 'logical') return logical(fields, scope, depth);
  if (type !== '' && type !== 'default') {
    throw new ImportError(`the type ${JSON.stringify(type)} is unknown here`);
  }
  return plain(fields, scope);
}

function logical(fields: ForeignObject, scope: RuleScope, depth: number): Condition {
  const mode = fields.text('mode') ?? '';
  if (mode !== 'and' && mode !== 'or') {
    throw new ImportError(`the mode ${JSON.stringify(mode)} is unknown here`);
  }
  if (depth >= MAX_DEPTH) throw new ImportError(`its rules are nested more than ${MAX_DEPTH} deep`);
  const parts = fields.list('rules').map((each) => {
    const part = new ForeignObject(each);
    // sing-box ignores the action of a nested rule too.
    for (const key of ['action', 'outbound']) part.text(key);
    const { any, notes } = conditionOf(part, scope, depth + 1);
    return { any, notes: [...notes, ...notesOnRule(part, SING_BOX_RULE_KEYS)] };
  });
  if (parts.length === 0) throw new ImportError('it has no rules');
  const notes = parts.flatMap((part) => part.notes);
  if (mode === 'or') return { any: parts.flatMap(({ any }) => any), notes };
  let any: readonly Matchers[] = [{}];
  for (const part of parts) any = both(any, part.any);
  return { any, notes };
}

/**
 * Reads the condition of a plain rule. sing-box joins the conditions on the destination by "or", those on the port by
 * "or", and all groups of conditions by "and". Weir joins all kinds by "and".
 */
function plain(fields: ForeignObject, scope: RuleScope): Condition {
  const lists = textsOf(fields, 'rule_set').map((tag) => scope.ruleSets.of(tag));
  const own = destinationsOf(fields);
  const notes = [own, ...lists].flatMap((each) => each.notes);
  const destinations = [own, ...lists].flatMap(({ any }) => any);
  const mode = fields.text('clash_mode') ?? '';
  const network = networkIn(fields);
  const rest: Matchers = {
    ...sourceOf(fields),
    ...portIn(fields),
    ...(network === 'none' ? {} : network),
    ...inboundIn(fields),
  };
  const any = destinations.length === 0 ? [{}] : merged(destinations);
  const limited = withVersion(any, fields);
  // All known keys have been read at this point, so that the remaining ones are unknown to Weir.
  if (mode !== '' && mode.toLowerCase() !== scope.mode) return { ...NEVER, never: OTHER_MODE };
  if (mode !== '') {
    notes.push('Weir has no modes: the rule always holds, as in the mode that sing-box starts in');
  }
  // An empty list matches nothing, unlike a missing one.
  const isEmpty = destinations.length === 0 && (lists.length > 0 || !isUnlimited(own));
  if (network === 'none') return NEVER;
  if (isEmpty) return notes[0] === undefined ? NEVER : { ...NEVER, never: notes[0] };
  return { any: limited.map((each) => ({ ...each, ...rest })), notes };
}

const NEVER: Condition = { any: [], notes: [] };

/** Merges alternatives that have only one kind of condition, by kind. */
function merged(alternatives: readonly Matchers[]): readonly Matchers[] {
  const lists = new Map<string, Set<string>>();
  for (const each of alternatives) {
    for (const [key, values] of Object.entries(each)) {
      const known = lists.get(key) ?? new Set();
      for (const value of values) known.add(value);
      lists.set(key, known);
    }
  }
  return [...lists].map(([key, values]) => ({ [key]: [...values] }));
}

/** The network of a rule; `none` if Weir has no flows of it. */
function networkIn(fields: ForeignObject): Matchers | 'none' {
  const networks = textsOf(fields, 'network');
  if (networks.length === 0) return {};
  const known = (['tcp', 'udp'] as const).filter((each) => networks.includes(each));
  const [only, second] = known;
  if (only === undefined) return 'none';
  return second === undefined ? { network: only } : {};
}

function portIn(fields: ForeignObject): Matchers {
  const ports = [
    ...fields.list('port').map((each) => portRangeOf(each, '-')),
    ...textsOf(fields, 'port_range').map((each) => portRangeOf(each, ':')),
  ];
  return ports.length === 0 ? {} : { port: ports };
}

function inboundIn(fields: ForeignObject): Matchers {
  const names = textsOf(fields, 'inbound');
  return names.length === 0 ? {} : { inbound_tag: names };
}

/** Restricts destinations to addresses of one IP version. */
function withVersion(any: readonly Matchers[], fields: ForeignObject): readonly Matchers[] {
  const version = fields.number('ip_version') ?? 0;
  if (version === 0) return any;
  if (version !== 4 && version !== 6) throw new ImportError(`the ip_version ${version} is unknown`);
  return any.flatMap((each) => {
    if (!each.cidr) return [{ ...each, cidr: [everyAddress(version)] }];
    const cidr = each.cidr.filter((network) => isVersion6(network) === (version === 6));
    return cidr.length === 0 ? [] : [{ ...each, cidr }];
  });
}
