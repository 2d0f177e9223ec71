import { ipVersion, type Network } from '@weir/io/addresses';
import { BlockTable } from './tables/block-table.ts';
import { type Facts, Hits, type QueryField } from './conditions.ts';
import { DomainTable } from './tables/domain-table.ts';
import { parseAddressWords, portWords } from './tables/network-list.ts';
import type { RegexSet } from './tables/regex-set.ts';
import type { NetworkTableData, RouterTables } from './tables/router-tables.ts';

/** The properties of a flow that rules match. */
export interface RouteQuery {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The client's IP address; `undefined` for a unix socket. */
  readonly source: string | undefined;
  readonly network: Network;
  /** The destination: a domain name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The name sniffed from the first bytes, when `host` is an IP address. */
  readonly sniffed: string | undefined;
}

export interface RouteDecision {
  /** Tag of an outbound or balancer. */
  readonly outbound: string;
  /** Position of the rule that decided; `undefined` for the default. */
  readonly rule: number | undefined;
}

/**
 * Looks up the fields of a query in the tables of a router: each at most once, and only when needed.
 *
 * The object is reused for every query: `reset` starts the next one.
 */
export class QueryFacts implements Facts {
  readonly #fields: Readonly<Record<QueryField, FieldFacts>>;
  readonly #all: readonly FieldFacts[];

  constructor(tables: RouterTables, patterns: RegexSet | undefined) {
    const domains = new DomainTable(tables.domains, patterns);
    const destinations = new NetworkTable(tables.destinations);
    const sources = new NetworkTable(tables.sources);
    const ports = new BlockTable(1, tables.ports);
    const inbounds = new Map(tables.inbounds.map((tag, list) => [tag, list]));
    const networks = new Map(tables.networks.map((name, list) => [name, list]));
    this.#fields = {
      domain: new FieldFacts(tables.domains.lists, (query, hits) => {
        const name = ipVersion(query.host) === 0 ? query.host : query.sniffed;
        if (name === undefined) return false;
        domains.match(name, hits);
        return true;
      }),
      destination: new FieldFacts(tables.destinations.lists, (query, hits) =>
        destinations.match(query.host, hits),
      ),
      source: new FieldFacts(
        tables.sources.lists,
        (query, hits) => query.source !== undefined && sources.match(query.source, hits),
      ),
      port: new FieldFacts(tables.portLists, (query, hits) => {
        ports.match(portWords(query.port), hits);
        return true;
      }),
      inbound: new FieldFacts(tables.inbounds.length, (query, hits) =>
        matchText(inbounds, query.inbound, hits),
      ),
      network: new FieldFacts(tables.networks.length, (query, hits) =>
        matchText(networks, query.network, hits),
      ),
    };
    this.#all = Object.values(this.#fields);
  }

  reset(query: RouteQuery): void {
    for (const field of this.#all) field.reset(query);
  }

  hits(field: QueryField): Hits | undefined {
    return this.#fields[field].hits();
  }
}

/** The value of one field of one query. */
class FieldFacts {
  readonly #hits: Hits;
  readonly #match: (query: RouteQuery, hits: Hits) => boolean;
  #query: RouteQuery | undefined;
  #known = false;

  /** @param match adds the lists that contain the value of the field; returns whether there is a value */
  constructor(lists: number, match: (query: RouteQuery, hits: Hits) => boolean) {
    this.#hits = new Hits(lists);
    this.#match = match;
  }

  reset(query: RouteQuery): void {
    this.#query = query;
  }

  hits(): Hits | undefined {
    if (this.#query) {
      this.#hits.clear();
      this.#known = this.#match(this.#query, this.#hits);
      this.#query = undefined;
    }
    return this.#known ? this.#hits : undefined;
  }
}

/** Networks of both families. */
class NetworkTable {
  readonly #v4: BlockTable;
  readonly #v6: BlockTable;

  constructor({ v4, v6 }: NetworkTableData) {
    this.#v4 = new BlockTable(1, v4);
    this.#v6 = new BlockTable(4, v6);
  }

  /** Adds the lists that an address is in; returns whether the text is an address. */
  match(text: string, hits: Hits): boolean {
    const address = parseAddressWords(text);
    if (!address) return false;
    (address.length === 1 ? this.#v4 : this.#v6).match(address, hits);
    return true;
  }
}

function matchText(lists: ReadonlyMap<string, number>, text: string, hits: Hits): boolean {
  const list = lists.get(text);
  if (list !== undefined) hits.add(list);
  return true;
}
