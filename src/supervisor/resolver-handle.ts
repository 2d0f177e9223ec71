import type { DnsAnswer, DnsService } from '../dns/backend.ts';
import type { OwnedResolver } from '../dns/cached-resolver.ts';
import type { RawQuestion } from '../dns/message.ts';
import type { AddressRecordType } from '../dns/policy.ts';
import type { FamilyPolicy, Resolver } from '../net/addresses/resolver.ts';

/**
 * The resolver that outbounds are built with: it stays the same object while a reload changes what
 * is behind it, so that a change of `[dns]` rebuilds no outbound.
 */
export class ResolverHandle implements Resolver, DnsService {
  #current: OwnedResolver;

  constructor(current: OwnedResolver) {
    this.#current = current;
  }

  resolve(
    host: string,
    policy: FamilyPolicy,
    signal?: AbortSignal,
    client?: string,
  ): Promise<readonly string[]> {
    return this.#current.resolve(host, policy, signal, client);
  }

  lookup(
    name: string,
    type: AddressRecordType,
    signal?: AbortSignal,
    client?: string,
  ): Promise<DnsAnswer> {
    return this.#current.lookup(name, type, signal, client);
  }

  forward(question: RawQuestion, signal?: AbortSignal, client?: string): Promise<Buffer> {
    return this.#current.forward(question, signal, client);
  }

  /** New questions go to `next`; those under way are still answered by the one before. */
  swap(next: OwnedResolver): void {
    this.#current.close();
    this.#current = next;
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#current.destroy();
  }
}
