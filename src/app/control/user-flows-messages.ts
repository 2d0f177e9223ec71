/** A selection of an inbound's flows, and whether to close them. */
export interface UserFlowsRequest {
  readonly inbound: string;
  /** Selects only flows with this label. */
  readonly user?: string | undefined;
  /** Whether to select only flows whose account has since been removed or given another secret. */
  readonly removed: boolean;
  /** Whether to close the flows; otherwise they are only counted. */
  readonly close: boolean;
}

/** The response to `user-flows`. */
export interface UserFlowsResponse {
  readonly kind: 'flows';
  readonly count: number;
}

/** Parses a request; `undefined` for any other text. */
export function toUserFlowsRequest(text: string): UserFlowsRequest | undefined {
  const parsed = objectIn(text);
  const { inbound, user, removed, close } = parsed ?? {};
  if (typeof inbound !== 'string' || typeof removed !== 'boolean') return undefined;
  if (typeof close !== 'boolean') return undefined;
  if (user !== undefined && typeof user !== 'string') return undefined;
  return { inbound, user, removed, close };
}

/** Parses the number in a response; `undefined` for any other value. */
export function toUserFlows(parsed: unknown): number | undefined {
  if (typeof parsed !== 'object' || parsed === null || !('count' in parsed)) return undefined;
  return typeof parsed.count === 'number' ? parsed.count : undefined;
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}
