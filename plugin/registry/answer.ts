import type { Customer, RegistryAnswer, RegistryEntry } from './registry';

/**
 * What a stored entry means now. A customer that exists in two systems is served where its `exported` flag says;
 * an entry without a customer, or whose customer is not in the registry, is served where it lives.
 */
export function answerFor(entry: RegistryEntry, customer: Customer | null): RegistryAnswer {
  const { value: _value, ...rest } = entry;
  if (customer === null) return rest;
  return { ...rest, system: customer.exported ? customer.target : customer.source };
}
