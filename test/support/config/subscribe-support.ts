import assert from 'node:assert/strict';
import { ConfigError } from '@weir/config';
import { openConfig, openSubscribe, parseConfig } from './documents.ts';
import { routeView, type RouteView } from '@weir/config/route-view';
import type { Spec } from '@weir/proxy/spec';

/** `[subscribe]` with the picks that `routes` are the lines of. */
export const subscribed = (routes = ''): string =>
  `[subscribe]\npath = "sub.toml"\n[subscribe.routes]\n${routes}\n`;

export const outbounds = (...tags: string[]): string =>
  tags.map((tag) => `[[outbound]]\ntag = "${tag}"\nprotocol = "freedom"\n`).join('');

export const nodes = (...names: string[]): string =>
  names.map((name) => `[[proxy_server]]\nname = "${name}"\nprotocol = "freedom"\n`).join('');

/** A route group; `lines` follow its name. */
export const group = (name: string, lines = ''): string =>
  `[[route_group]]\nname = "${name}"\n${lines}\n`;

/** A route group that inherits from another. */
export const heir = (name: string, parent: string): string =>
  group(name, `inherit = { group = "${parent}" }`);

export function viewOf(config: string, subscribe?: string): RouteView {
  const document = openConfig({ bytes: Buffer.from(config) });
  const provided = subscribe === undefined ? undefined : Buffer.from(subscribe);
  return routeView(document.file, provided && openSubscribe({ bytes: provided }, document).file);
}

export const specOfBoth = (config: string, subscribe: string): Spec =>
  parseConfig(Buffer.from(config), {
    file: 'weir.toml',
    subscribe: { bytes: Buffer.from(subscribe), file: 'sub.toml' },
  });

/** The error of two files that do not go together, or of one of them. */
export function errorOfBoth(config: string, subscribe: string): ConfigError {
  try {
    specOfBoth(config, subscribe);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(error.kind, 'invalid');
    return error;
  }
  return assert.fail('they were accepted');
}

/** `file:line:column` of an error, and what it is about. */
export function placeOf({ location, subject }: ConfigError): string | undefined {
  if (!location) return undefined;
  const { file, line, column } = location;
  return `${file}:${line}:${column}${subject === undefined ? '' : ` (${subject})`}`;
}
