import { VERSION } from '../../version.ts';
import { clashRules } from '../translate/rules.ts';
import { type ClashEndpoint, clashError, NO_CONTENT, ok } from './endpoint.ts';

/** An endpoint that Weir does not support: mihomo's status for a failure, and the reason. */
const refusal = (
  method: ClashEndpoint['method'],
  path: string,
  status: number,
  message: string,
): ClashEndpoint => ({
  method,
  path,
  answer: () => {
    throw clashError(status, message);
  },
});

const GEO = 'Weir reads geo files when it loads its configuration: replace the files, then reload';
const RESTART = 'Weir is restarted by what has started it; a reload reads its configuration again';
const UPGRADE = 'Weir is upgraded as it was installed';

/** Endpoints about the program as a whole, and those without an equivalent in Weir. */
export const GENERAL_ENDPOINTS: readonly ClashEndpoint[] = [
  { method: 'GET', path: '/', answer: () => ok({ hello: 'mihomo' }) },
  { method: 'GET', path: '/version', answer: () => ok({ meta: true, version: VERSION }) },
  {
    method: 'GET',
    path: '/rules',
    answer: async ({ facts }) => ok({ rules: clashRules(await facts.read()) }),
  },
  refusal('PATCH', '/rules/disable', 400, "rules are part of Weir's configuration file"),
  // Without fake IP addresses, mihomo has nothing to flush either.
  { method: 'POST', path: '/cache/fakeip/flush', answer: () => NO_CONTENT },
  refusal('POST', '/cache/dns/flush', 400, 'the DNS cache of Weir is not flushed from outside'),
  refusal('GET', '/dns/query', 500, 'DNS section is disabled'),
  // Dashboards store their settings in the browser when the controller has none.
  { method: 'GET', path: '/storage/:key', answer: () => ok(null) },
  { method: 'DELETE', path: '/storage/:key', answer: () => NO_CONTENT },
  refusal('PUT', '/storage/:key', 400, 'settings of dashboards are not stored here'),
  refusal('POST', '/configs/geo', 500, GEO),
  refusal('POST', '/upgrade/geo', 500, GEO),
  refusal('POST', '/upgrade/ui', 500, 'the files of --ui are replaced by hand'),
  refusal('POST', '/upgrade', 500, UPGRADE),
  refusal('POST', '/restart', 500, RESTART),
];
