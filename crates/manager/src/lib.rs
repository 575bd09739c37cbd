//! The cloud controller manager: flags to configuration to controllers.
