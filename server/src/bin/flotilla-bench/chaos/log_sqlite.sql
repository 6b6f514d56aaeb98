-- Logs what the server commits, for the history of a run under faults. SQLite has one server at a time: it is the holder.
CREATE TABLE chaos_log (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, holder TEXT NOT NULL, detail TEXT NOT NULL);

CREATE TRIGGER chaos_log_placer_taken AFTER UPDATE ON placer_queue
WHEN NEW.claimed = 1 AND NEW.claim_epoch <> OLD.claim_epoch BEGIN
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('claimTaken', 'one',
        json_object('row', 'placer_queue/' || NEW.workload_id, 'epoch', NEW.claim_epoch));
END;
CREATE TRIGGER chaos_log_placer_ended AFTER UPDATE ON placer_queue
WHEN NEW.claimed = 0 AND OLD.claimed = 1 AND NEW.claim_epoch = OLD.claim_epoch BEGIN
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('claimEnded', 'one',
        json_object('row', 'placer_queue/' || NEW.workload_id, 'epoch', NEW.claim_epoch));
END;
CREATE TRIGGER chaos_log_rollout_taken AFTER UPDATE ON rollout_queue
WHEN NEW.claimed = 1 AND NEW.claim_epoch <> OLD.claim_epoch BEGIN
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('claimTaken', 'one',
        json_object('row', 'rollout_queue/' || NEW.workload_id, 'epoch', NEW.claim_epoch));
END;
CREATE TRIGGER chaos_log_rollout_ended AFTER UPDATE ON rollout_queue
WHEN NEW.claimed = 0 AND OLD.claimed = 1 AND NEW.claim_epoch = OLD.claim_epoch BEGIN
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('claimEnded', 'one',
        json_object('row', 'rollout_queue/' || NEW.workload_id, 'epoch', NEW.claim_epoch));
END;

CREATE TRIGGER chaos_log_release_new AFTER INSERT ON release BEGIN
    INSERT INTO chaos_log (kind, holder, detail) SELECT 'desired', 'one',
        json_object('row', 'placer_queue/' || NEW.workload_id, 'release', NEW.id, 'revision', NEW.revision)
        WHERE NEW.revision IS NOT NULL;
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('generation', 'one',
        json_object('release', NEW.id, 'generation', NEW.generation));
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('state', 'one',
        json_object('release', NEW.id, 'workload', NEW.workload_name, 'cluster', NEW.cluster_name, 'from', '', 'to', NEW.state));
END;
CREATE TRIGGER chaos_log_release_desired AFTER UPDATE ON release
WHEN NEW.revision IS NOT NULL AND NEW.revision IS NOT OLD.revision BEGIN
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('desired', 'one',
        json_object('row', 'placer_queue/' || NEW.workload_id, 'release', NEW.id, 'revision', NEW.revision));
END;
CREATE TRIGGER chaos_log_release_generation AFTER UPDATE ON release WHEN NEW.generation <> OLD.generation BEGIN
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('generation', 'one',
        json_object('release', NEW.id, 'generation', NEW.generation));
END;
CREATE TRIGGER chaos_log_release_state AFTER UPDATE ON release WHEN NEW.state <> OLD.state BEGIN
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('state', 'one',
        json_object('release', NEW.id, 'workload', NEW.workload_name, 'cluster', NEW.cluster_name, 'from', OLD.state,
            'to', NEW.state));
END;

CREATE TRIGGER chaos_log_event AFTER INSERT ON event BEGIN
    INSERT INTO chaos_log (kind, holder, detail) VALUES ('event', 'one',
        json_object('workload', NEW.workload_name, 'cluster', NEW.cluster_name, 'release', NEW.release_id,
            'kind', NEW.kind, 'message', NEW.message));
END;
