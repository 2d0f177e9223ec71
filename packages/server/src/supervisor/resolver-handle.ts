import type {
  DnsAnswer,
  DnsService,
  OwnedResolver,
  RawQuestion,
  AddressRecordType,
} from '@weir/proxy/dns';
import type { FamilyPolicy, Resolver } from '@weir/io/addresses';

/**
 * The resolver that outbounds are built with. It delegates to the current resolver, so that a change of `[dns]`
 * does not rebuild outbounds.
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

  /** Replaces the resolver for new queries; pending ones are finished by the previous resolver. */
  swap(next: OwnedResolver): void {
    this.#current.close();
    this.#current = next;
  }

  /** Ends all queries. */
  destroy(): void {
    this.#current.destroy();
  }
}
