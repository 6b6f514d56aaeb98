-- The fields that a chart fills differently with every rendering, as JSON of `domain::generated_values::GeneratedFields`: objects, paths and positions, no values.
-- Clusters keep the values that they have there. Written with the rendering; nothing is kept of the renderings of before.
ALTER TABLE chart_rendering ADD COLUMN generated TEXT NOT NULL DEFAULT '{}';
