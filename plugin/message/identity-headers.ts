/** What only a trusted element may say of who is calling, or was called (RFC 3325 §5, RFC 5876). Long lower-case names. */
export const IDENTITY_HEADERS = ['p-asserted-identity', 'p-asserted-service', 'remote-party-id'] as const;
