-- Logs what servers commit, for the history of a run under faults. The holder of a write is the server's application name.
CREATE TABLE chaos_log (seq BIGSERIAL PRIMARY KEY, kind TEXT NOT NULL, holder TEXT NOT NULL, detail TEXT NOT NULL);

CREATE FUNCTION chaos_write(kind TEXT, detail JSON) RETURNS VOID LANGUAGE sql AS $$
    INSERT INTO chaos_log (kind, holder, detail) VALUES (kind, split_part(current_setting('application_name'), '@', 2), detail::TEXT)
$$;

CREATE FUNCTION chaos_log_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    detail JSON := json_build_object('row', TG_TABLE_NAME || '/' || NEW.workload_id, 'epoch', NEW.claim_epoch);
BEGIN
    IF NEW.claimed = 1 AND NEW.claim_epoch <> OLD.claim_epoch THEN
        PERFORM chaos_write('claimTaken', detail);
    ELSIF NEW.claimed = 0 AND OLD.claimed = 1 AND NEW.claim_epoch = OLD.claim_epoch THEN
        PERFORM chaos_write('claimEnded', detail);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER chaos_log AFTER UPDATE ON placer_queue FOR EACH ROW EXECUTE FUNCTION chaos_log_claim();
CREATE TRIGGER chaos_log AFTER UPDATE ON rollout_queue FOR EACH ROW EXECUTE FUNCTION chaos_log_claim();

CREATE FUNCTION chaos_log_release() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.revision IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.revision IS DISTINCT FROM OLD.revision) THEN
        PERFORM chaos_write('desired', json_build_object('row', 'placer_queue/' || NEW.workload_id, 'release', NEW.id,
            'revision', NEW.revision));
    END IF;
    IF TG_OP = 'INSERT' OR NEW.generation <> OLD.generation THEN
        PERFORM chaos_write('generation', json_build_object('release', NEW.id, 'generation', NEW.generation));
    END IF;
    IF TG_OP = 'INSERT' OR NEW.state <> OLD.state THEN
        PERFORM chaos_write('state', json_build_object('release', NEW.id, 'workload', NEW.workload_name,
            'cluster', NEW.cluster_name, 'from', CASE WHEN TG_OP = 'INSERT' THEN '' ELSE OLD.state END, 'to', NEW.state));
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER chaos_log AFTER INSERT OR UPDATE ON release FOR EACH ROW EXECUTE FUNCTION chaos_log_release();

CREATE FUNCTION chaos_log_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM chaos_write('event', json_build_object('workload', NEW.workload_name, 'cluster', NEW.cluster_name,
        'release', NEW.release_id, 'kind', NEW.kind, 'message', NEW.message));
    RETURN NEW;
END $$;
CREATE TRIGGER chaos_log AFTER INSERT ON event FOR EACH ROW EXECUTE FUNCTION chaos_log_event();
