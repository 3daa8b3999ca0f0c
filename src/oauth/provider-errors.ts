import { errors } from 'oidc-provider';
import { AppError } from '#src/errors.ts';
import { toHttpError } from '#src/http/error-response.ts';
import { asStoreError } from '#src/storage/open.ts';

/**
 * One of our own errors on its way through the provider, which would make a server error of it.
 * Answered as it is, never with a redirect.
 */
export class CarriedError extends errors.OIDCProviderError {
  // The provider hides what is 500 or more; these are for the person or the client to read.
  override expose = true;
  override allow_redirect = false;
  readonly carried: AppError;

  constructor(carried: AppError) {
    const { status, error, description } = toHttpError(carried);
    super(status, error);
    this.carried = carried;
    if (description !== undefined) this.error_description = description;
    this.error_detail = carried.message;
  }
}

/** The error to throw at the provider: ours carried, the store's failures too, others as they are. */
function toProviderError(error: unknown): unknown {
  const known = asStoreError(error);
  return known instanceof AppError && toHttpError(known).status !== 500
    ? new CarriedError(known)
    : error;
}

/** Runs a hook of the provider's; what it throws of ours is carried. */
export async function carryingErrors<T>(hook: () => Promise<T>): Promise<T> {
  try {
    return await hook();
  } catch (error) {
    throw toProviderError(error);
  }
}
