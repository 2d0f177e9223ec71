import type { ProbedSpec } from '@weir/nodes/probe';
import type { DashboardContext, PageAction } from '../contract.ts';
import type { FileModel } from '../reader/file-model.ts';
import { ActionError, Parameters } from '../parameters.ts';
import { commandLine } from '../shared/texts.ts';
import type { JsonValue } from '../shared/protocol.ts';
import { targetsWith } from '../routes/routes-topic.ts';
import { DEFAULT_RUN, type NodeProbes } from './node-probes.ts';
import type { NodesTopic } from './nodes-topic.ts';
import type { ProbePreview, ProbeStarted } from './view.ts';

/** Maximum number of tries of each outbound. */
const MOST_TRIES = 20;

/** Maximum number of tags in a command line. */
const MOST_TAGS = 100;

/**
 * The actions `probe-preview`, `probe` and `probe-cancel`. A probe sends traffic and changes nothing in Weir, so it is
 * allowed with `--read-only`, but then only towards the default URL: a read-only user must not choose the destination.
 */
export const probeActions = (
  context: Pick<DashboardContext, 'socket' | 'readOnly' | 'monitor'>,
  file: FileModel,
  topic: NodesTopic,
  probes: NodeProbes,
): readonly PageAction[] => [
  {
    name: 'probe-preview',
    changes: false,
    run: async (value): Promise<ProbePreview> => {
      const { tags, isAll, url, tries } = wantedOf(value, topic, context);
      const { length: outbounds } = specsOf(tags, file);
      if (!isAll && tags.length > MOST_TAGS) return { outbounds, command: null };
      const { path } = file;
      const words = [
        'weir',
        'probe',
        ...(isAll ? ['--all'] : tags),
        ...(url.href === DEFAULT_RUN.url ? [] : ['--url', url.href]),
        ...(tries === DEFAULT_RUN.tries ? [] : ['--tries', String(tries)]),
        ...(typeof path === 'string' ? ['--config', path] : []),
      ];
      return { outbounds, command: commandLine(words) };
    },
  },
  {
    name: 'probe',
    changes: false,
    run: async (value): Promise<ProbeStarted> => {
      if (context.socket === undefined) {
        throw new ActionError('no-socket', 'a probe goes through the control socket of Weir', {
          hint: 'weir dashboard --socket PATH names it; `weir probe --config FILE` works without',
        });
      }
      const { tags, url, tries } = wantedOf(value, topic, context);
      if (context.readOnly && url.href !== DEFAULT_RUN.url) {
        throw new ActionError('read-only', 'with --read-only only the usual URL is asked for');
      }
      const specs = specsOf(tags, file);
      probes.start({ specs, url, tries });
      return { started: specs.length };
    },
  },
  {
    name: 'probe-cancel',
    changes: false,
    run: async () => {
      probes.cancel();
      return null;
    },
  },
];

/** Checks the parameters of a probe. @throws {ActionError} */
function wantedOf(
  value: JsonValue,
  topic: NodesTopic,
  { monitor }: Pick<DashboardContext, 'monitor'>,
) {
  const parameters = new Parameters(value);
  const tag = parameters.text('tag', '');
  const search = parameters.text('search', '').trim();
  const byTarget = parameters.flag('byTarget');
  const tags = byTarget
    ? targetsWith(monitor, search).map(({ name }) => name)
    : tag === ''
      ? topic.tagsFor(search)
      : [tag];
  const url = URL.parse(parameters.text('url', DEFAULT_RUN.url));
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new ActionError('bad-request', 'the URL has to begin with http: or https:');
  }
  if (url.username !== '' || url.password !== '') {
    throw new ActionError('bad-request', 'the URL of a probe has no user information');
  }
  const tries = parameters.count('tries', MOST_TRIES) ?? DEFAULT_RUN.tries;
  if (tries === 0) throw new ActionError('bad-request', 'a probe has at least one try');
  return { tags, isAll: !byTarget && tag === '' && search === '', url, tries };
}

/** The distinct outbounds of these tags, with balancers replaced by their members. @throws {ActionError} */
function specsOf(tags: readonly string[], file: FileModel): readonly ProbedSpec[] {
  const { facts } = file;
  const members = tags.flatMap(
    (tag) => facts?.balancers.find((balancer) => balancer.tag === tag)?.members ?? [tag],
  );
  const wanted = new Set(members);
  const found = (facts?.nodes ?? []).filter(
    ({ tag, protocol }) => wanted.has(tag) && protocol !== 'blackhole',
  );
  if (found.length === 0) throw new ActionError('not-found', 'there is no outbound to probe');
  return found.map(({ probed }) => probed);
}
