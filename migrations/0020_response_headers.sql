-- The headers of a stored response that a replay repeats, such as `ETag` and `Location`, as a JSON object. Written with the response, and completed by the server
-- when the response of the verb that stored it is known; empty for the responses of before.
ALTER TABLE idempotency_record ADD COLUMN headers TEXT NOT NULL DEFAULT '{}';
